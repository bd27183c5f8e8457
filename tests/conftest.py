"""What every test gets: a cache of its own, warnings that are said anew, and reproducible random examples.

Under pytest-xdist every worker keeps to one core unless a test asks for threads, and threads that wait do not spin.

`--target NAME` (or STROP_TARGET) makes the tests believe that they run on another machine: `x86-64-v3` hides AVX-512,
`znver4@host` shows it where it is missing, planned for and emulated.
"""

from __future__ import annotations

import logging
import os
import sys
import types
from collections.abc import Iterator
from dataclasses import replace

import golden
import pytest
from hypothesis import HealthCheck, settings

from codegen.tally import Tally
from numerics.cases import Cases
from strop.core import journal

settings.register_profile(
    "strop", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("strop")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files anew instead of comparing")
    parser.addoption("--target", default=os.environ.get("STROP_TARGET"), help="the machine that this one stands in for")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Pytest listens to torch's structured trace, which makes tracing six times slower than it is."""
    logging.getLogger("torch.__trace").handlers.clear()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Tally(), "tally")
    config.pluginmanager.register(Cases(), "numerics")
    golden.Refresh.wanted = config.getoption("--update-golden")
    if hasattr(config, "workerinput"):  # before any test imports torch, which reads these
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or fills the user's cache; child processes inherit the setting."""
    before = os.environ.get("STROP_CACHE")
    os.environ["STROP_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["STROP_CACHE"]
    else:
        os.environ["STROP_CACHE"] = before


@pytest.fixture(scope="session", autouse=True)
def _stand_in(pytestconfig: pytest.Config) -> Iterator[None]:
    """The host is described as the machine that it stands in for, whatever the options of a test say."""
    name = pytestconfig.getoption("--target")
    if not name:
        yield
        return
    from strop.core.options import Options
    from strop.driver.pipeline import target_for
    from strop.target import host

    target = target_for(Options(target=name))
    here = host.described_host()
    assert target.runs_on(here), f"{name} does not run here; {name}@host emulates it"
    target = replace(target, provides=target.all_features)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "described_host", lambda: target)
        host.host.cache_clear()
        yield
    host.host.cache_clear()


@pytest.fixture(autouse=True)
def _fresh_warnings() -> None:
    journal.forget_warnings()


@pytest.fixture
def run(monkeypatch, capsys):
    """The command line in this process: what it prints, and its exit code."""
    from strop import cli

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["strop", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        printed = capsys.readouterr()
        return types.SimpleNamespace(code=left.value.code or 0, out=printed.out, err=printed.err)

    return call
