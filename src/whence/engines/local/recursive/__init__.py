"""Strategies that keep a recursive component up to date: one interface, five ways to know what a delete takes away."""
