"""scikit-learn's own checks of estimators, and the habits they do not check."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import reference
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from offgrid import RBF, BandwidthSearch, KernelKMeans


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([KernelKMeans(), BandwidthSearch()])
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [KernelKMeans(3, sigma=0.7, random_state=0), BandwidthSearch(3, random_state=0)])
class TestHabits:
    def test_clones_and_repr(self, estimator):
        assert clone(estimator).get_params() == estimator.get_params()
        assert "random_state=0" in repr(estimator)
        assert estimator.get_params()["kernel"] == RBF()

    def test_pickled_models_keep_their_labels(self, estimator):
        X, _ = reference.sample(0, 30, 2, 1)
        model = clone(estimator).fit(X)
        assert np.array_equal(pickle.loads(pickle.dumps(model)).labels_, model.labels_)

    def test_pipelines(self, estimator):
        X, _ = reference.sample(0, 30, 2, 1)
        scaled = StandardScaler().fit_transform(X)
        labels = make_pipeline(StandardScaler(), clone(estimator)).fit_predict(X)
        assert np.array_equal(labels, clone(estimator).fit_predict(scaled))

    def test_data_are_left_alone(self, estimator):
        X, _ = reference.sample(0, 30, 2, 1)
        before = X.copy()
        clone(estimator).fit(X)
        assert np.array_equal(X, before)

    def test_layouts_and_types_of_arrays_do_not_matter(self, estimator):
        X = np.round(reference.sample(0, 30, 2, 1)[0], 2).astype(np.float32)
        labels = clone(estimator).fit_predict(X)
        assert np.array_equal(clone(estimator).fit_predict(np.asfortranarray(X)), labels)
        assert np.array_equal(clone(estimator).fit_predict(X.tolist()), labels)
        assert np.array_equal(clone(estimator).fit_predict(np.repeat(X, 2, axis=1)[:, ::2]), labels)
