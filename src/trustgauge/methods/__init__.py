"""Rating methods: one room a paper, independent of each other."""
