"""The experiments of the papers behind the network, run again: figures 7 to 14 of one, figure 17 of the other."""
