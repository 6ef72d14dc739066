"""Kernels beside RBF on data, and each from its definition in plain NumPy."""

from __future__ import annotations

import math

import numpy as np
import reference
from hypothesis import strategies as st

from offgrid import RBF, KernelSum, Laplacian, Polynomial

# Logarithms of polynomial kernels are rounded once more than distances.
ROUNDING = 1e-13
FAMILIES = ("laplacian", "polynomial", "sum with rbf", "sum with laplacian", "sum with polynomial")


class Case:
    """A kernel on data, and the same kernel from its definition, in units of its largest entry."""

    def __init__(self, family, X):
        self.X, self.family = X, family
        scale = math.sqrt(reference.scale_of(X))
        gram = X @ X.T
        c = 0.5 * scale**2 - min(gram.min(), 0.0)
        products = gram + c
        manhattan = np.abs(X[:, None, :] - X[None, :, :]).sum(axis=2)
        self.sharpens = "polynomial" in family
        self.first = 1.0 if self.sharpens else 0.3 * (scale**2 if family == "sum with rbf" else scale)

        def rbf(sigma):
            return reference.rbf(X, sigma)

        def laplacian(sigma):
            return np.exp(-manhattan / sigma)

        def polynomial(degree):
            return np.exp(degree * np.log(products))

        # the kernel is the searched one, times a weight, and what is fixed
        self.weight, self.fixed = 1.0, np.zeros_like(gram)
        self.searched = polynomial if self.sharpens else rbf if family == "sum with rbf" else laplacian
        self.peak = products.max()
        if family == "laplacian":
            self.kernel = Laplacian()
        elif family == "polynomial":
            self.kernel = Polynomial(c)
        elif family == "sum with rbf":
            self.weight, self.fixed = 1.5, 0.5 * laplacian(scale) + 0.1 * (gram + 1.0 + c) ** 2
            self.kernel = KernelSum([(1.5, RBF(), None), (0.5, Laplacian(), scale), (0.1, Polynomial(1.0 + c), 2.0)])
        elif family == "sum with laplacian":
            self.fixed = 0.5 * rbf(0.2 * scale**2)
            self.kernel = KernelSum([(0.5, RBF(), 0.2 * scale**2), (1.0, Laplacian(), None)])
        else:
            self.weight, self.fixed = 0.2, 0.7 * rbf(scale**2)
            self.kernel = KernelSum(((0.7, RBF(), scale**2), (0.2, Polynomial(c), None)))

    def raw(self, value):
        return self.weight * self.searched(value) + self.fixed

    def matrix(self, value):
        return self.raw(value) / self.largest(value)

    def largest(self, value):
        """What no entry exceeds, and the tolerance of a move is relative to."""
        if self.family == "polynomial":
            return self.peak**value
        return (self.weight + self.fixed.max()) * (max(1.0, self.peak) ** value if self.sharpens else 1.0)

    def settled(self, labels, k, value):
        return reference.kernel_kmeans(self.matrix(value), labels, k)

    def gain(self, labels, k, value):
        return reference.gains(self.matrix(value), labels, k).max()

    def quiet(self, labels, k, value):
        return self.gain(labels, k, value) <= reference.TOLERANCE + ROUNDING

    def moves(self, labels, k, value):
        return self.gain(labels, k, value) > reference.TOLERANCE - ROUNDING


families = st.sampled_from(FAMILIES)


def sample(seed, n=24, d=2):
    return reference.sample(seed, n, d, 1)[0]
