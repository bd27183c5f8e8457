import pytest

from strop.core.options import ALGORITHMS, DEFAULT_CACHE_LIMIT, PRODUCTS, Options, cache_limit
from strop.core.problem import Problem


def test_environment_sets_defaults_and_arguments_go_before():
    environ = {"STROP_THREADS": "3", "STROP_CHECK": "1", "STROP_PACK": "off", "STROP_CACHE": "off"}
    options = Options.from_environment(environ, threads=2)
    assert (options.threads, options.check, options.pack, options.cache) == (2, True, False, False)
    assert Options.from_environment({"STROP_CACHE": "/some/where"}) == Options()


@pytest.mark.parametrize(
    "environ", [{"STROP_THREADS": "many"}, {"STROP_CHECK": "perhaps"}, {"STROP_MAX_VARIANTS": "-1"}]
)
def test_an_unreadable_variable_is_named(environ):
    (name,) = environ
    with pytest.raises(Problem, match="STR005") as caught:
        Options.from_environment(environ)
    assert name in caught.value.message


@pytest.mark.parametrize(
    "wrong",
    [
        {"threads": 0},
        {"threads": True},
        {"threads": "2"},
        {"threads": 10_000},
        {"max_variants": 0},
        {"pack": 1},
        {"numerics": "precise"},
        {"pairs": 1},
    ],
)
def test_wrong_values_are_refused(wrong):
    with pytest.raises(Problem, match="STR001"):
        Options.from_environment({}, **wrong)


def test_too_many_threads_are_refused_wherever_they_are_asked_for():
    with pytest.raises(Problem, match="at most 1024, got 10000"):
        Options.from_environment({"STROP_THREADS": "10000"})
    with pytest.raises(Problem, match="at most 1024, got 10000"):
        Options(threads=10_000)


def test_an_unknown_option_names_the_known_ones():
    with pytest.raises(Problem, match="no option `thread`") as caught:
        Options.from_environment({}, thread=2)
    assert "threads" in caught.value.help


def test_the_code_key_holds_only_what_changes_code():
    assert Options(check=True, cache=False).code_key == Options().code_key
    assert Options(winograd=False).code_key != Options().code_key
    assert Options(strassen=True).code_key != Options().code_key
    assert Options(numerics="exact").code_key == Options(winograd=False).code_key


def test_numerics_says_where_an_algorithm_may_be_used_and_a_switch_goes_before_it():
    assert {name: Options(numerics="exact").use(name) for name in ALGORITHMS} == dict.fromkeys(ALGORITHMS, "never")
    assert {name: Options(numerics="fast").use(name) for name in ALGORITHMS} == dict.fromkeys(ALGORITHMS, "always")
    assert [name for name in ALGORITHMS if Options().use(name) != "never"] == ["winograd"]
    assert Options().use("winograd") == "checked"
    assert Options(winograd=True, numerics="exact").use("winograd") == "always"
    assert Options.from_environment({"STROP_WINOGRAD": "small"}).use("winograd") == "small"
    assert Options(strassen=False, numerics="fast").use("strassen") == "never"


def test_gradients_get_the_smallest_tiles_of_winograd_unless_it_is_switched_off():
    assert {name: Options().for_gradients.use(name) for name in PRODUCTS} == dict.fromkeys(PRODUCTS, "never")
    for numerics, use in (("default", "small"), ("fast", "small"), ("exact", "never")):
        assert Options(numerics=numerics).for_gradients.use("winograd") == use
    assert Options(winograd=False).for_gradients.use("winograd") == "never"


def test_torchs_precision_of_matrix_products_allows_their_algorithms_unless_the_options_say_otherwise():
    high = Options().under("high")
    assert [name for name in ALGORITHMS if high.use(name) == "always"] == list(PRODUCTS)
    assert high.use("winograd") == "checked"
    assert Options(pairs=False).under("medium").use("pairs") == "never"
    for numerics in ("default", "exact"):
        assert Options(numerics=numerics).under("high").use("strassen") == "never"
    assert Options().under("highest").use("strassen") == "never"


@pytest.mark.parametrize(
    ("text", "size"),
    [("", DEFAULT_CACHE_LIMIT), ("0", 0), ("500MB", 500 * 2**20), ("1.5 GiB", 3 * 2**29), ("10k", 10240)],
)
def test_sizes(text, size):
    assert cache_limit({"STROP_CACHE_LIMIT": text}) == size


def test_a_size_that_is_none():
    with pytest.raises(Problem, match="STROP_CACHE_LIMIT"):
        cache_limit({"STROP_CACHE_LIMIT": "much"})
