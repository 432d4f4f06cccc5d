"""All mathematics of one pair of averages: kernels, what a measurement sees, integrals, covariances."""
