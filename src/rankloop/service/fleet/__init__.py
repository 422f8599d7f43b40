"""Several workers that share the partitions of one store: who has what, and how they talk to each other."""
