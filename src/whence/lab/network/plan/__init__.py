"""From a program to rules that every node can run on what it holds."""
