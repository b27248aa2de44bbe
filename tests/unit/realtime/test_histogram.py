import numpy as np

from servotwin.compiled.jit import kernel
from servotwin.realtime.histogram import BINS, HISTOGRAM, add_time, bars, bin_edges, read_times


@kernel
def _add_all(histograms, values):
    for i in range(values.shape[0]):
        add_time(histograms[0], values[i])


def test_percentiles_of_many_times_are_those_of_the_sorted_times_within_a_bin():
    values = np.random.default_rng(1).lognormal(10.0, 2.0, 20_000).astype(np.int64)
    histogram = np.zeros(1, HISTOGRAM)
    _add_all(histogram, values)
    times = read_times(histogram)
    assert (times.count, times.most) == (len(values), values.max())
    np.testing.assert_allclose(times.mean, values.mean(), rtol=1e-12)
    for found, rank in ((times.p50, 10_000), (times.p99, 19_800), (times.p999, 19_980)):
        exact = np.sort(values)[rank - 1]
        assert exact <= found <= exact * (1 + 1 / 32) + 1  # the upper end of a bin that is 1/32 wide


def test_bins_at_their_edges_count_what_they_say():
    edges = bin_edges()
    assert (np.diff(edges) > 0).all()
    for number in (0, 1, 31, 32, 63, 64, 65, 400, BINS - 2):
        histogram = np.zeros(1, HISTOGRAM)
        _add_all(histogram, np.array([edges[number], edges[number] + 1]))
        assert np.flatnonzero(histogram["bins"][0]).tolist() == [number, number + 1]


def test_times_below_zero_and_beyond_the_last_bin_are_counted():
    histogram = np.zeros(1, HISTOGRAM)
    _add_all(histogram, np.array([-5, 1 << 60]))
    assert histogram["bins"][0, 0] == histogram["bins"][0, -1] == 1
    ends, counts = bars(histogram)
    assert sum(counts) == 2
    assert len(ends) == BINS


def test_empty_histogram_has_no_numbers():
    assert read_times(np.zeros(1, HISTOGRAM)).plain()["p99_us"] is None
