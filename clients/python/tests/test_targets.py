"""How users name their Redis: URLs and options, of one server, of sentinels, of a Cluster."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio.connection import SSLConnection

from conftest import vectors
from pshub import ConfigError, Hub
from pshub.redis.target import Place, check_target, describe_target, read_target
from pshub.settings.read import read_settings
from pshub.settings.table import TABLE

OWN = {"sentinelUsername": "username", "sentinelPassword": "password"}
TWO = [{"host": "h1", "port": 26379}, {"host": "h2", "port": 5}]
PORTLESS = [{"host": "h1"}, {"host": "h2", "port": 5}]


def test_one_server() -> None:
    assert read_target({"host": "h1", "password": "x"}) == Place("one", (), {"host": "h1", "password": "x"})


def test_sentinels() -> None:
    # Without their own none: the data servers' are not theirs.
    assert read_target("redis+sentinel://me:secret@h1/m").sentinel_options == {}
    given = {"sentinels": PORTLESS, "name": "m", "password": "a", "sentinel_password": "b", "ssl": True}
    assert read_target(given) == Place("sentinel", [("h1", 26379), ("h2", 5)], {"password": "a", "ssl": True}, {"password": "b", "ssl": True}, "m")


def test_a_cluster() -> None:
    assert read_target({"cluster": PORTLESS, "username": "u"}) == Place("cluster", [("h1", 6379), ("h2", 5)], {"username": "u"})


@pytest.mark.parametrize("kind, name", [("sentinel", "/m"), ("cluster", "")])
def test_tls_is_to_all_of_them(kind: str, name: str) -> None:
    place = read_target(f"rediss+{kind}://h1{name}?ssl_cert_reqs=none")
    wanted = {"connection_class": SSLConnection, "ssl_cert_reqs": "none"}
    assert place.options == wanted
    assert place.sentinel_options == (wanted if kind == "sentinel" else {})


WRONG: dict[str, Any] = {
    "must be a URL like redis": 6379,
    "must not name a database": {"cluster": TWO, "db": 1},
    "has an unsupported option after \\?": "redis://h1?socket_timeout=99999s",
    "'sentinels' or 'cluster', not both": {"sentinels": TWO, "cluster": TWO, "name": "m"},
    "must not have 'host', 'port' or 'path' beside 'cluster'": {"cluster": TWO, "host": "h"},
    "in a dict it is 'name'": {"sentinels": TWO},
    "must have in 'sentinels' a list like": {"sentinels": ["h1:26379"], "name": "m"},
    "must have in 'cluster' a list like": {"cluster": []},
    "names no sentinels: give 'sentinels'": {"host": "h", "name": "m"},
    "with 'sentinels' only": {"cluster": TWO, "name": "m"},
}


@pytest.mark.parametrize("told", WRONG)
def test_what_is_wrong_is_told_with_what_to_write_instead(told: str) -> None:
    with pytest.raises(ConfigError, match=f"option 'redis' .*{told}") as error:
        Hub(WRONG[told])
    # Whatever it was given, it may hold a secret.
    assert "99999" not in str(error.value) and "=x" not in str(error.value)


SHOWN: dict[str, Any] = {
    "rediss+sentinel://h1:26379,h2:5/m": {"sentinels": TWO, "name": "m", "sentinel_password": "secret", "ssl": True},
    "redis+cluster://h1:26379,h2:5": {"cluster": TWO, "username": "me", "password": "secret"},
    "h1:7000": {"host": "h1", "port": 7000, "password": "secret"},
}


@pytest.mark.parametrize("shown", SHOWN)
def test_what_is_shown_has_no_user_and_no_password(shown: str) -> None:
    assert describe_target(SHOWN[shown]) == shown


def test_urls_mean_the_same_in_all_languages() -> None:
    cases = vectors("addresses.json")
    for case in cases["taken"]:
        place = read_target(case["url"])
        options = {key: value for key, value in place.options.items() if key != "connection_class"}
        nodes = [(options.pop("host"), options.pop("port"))] if "host" in options else place.nodes
        found: dict[str, Any] = {"kind": place.kind, "hosts": [[*node] for node in nodes], **options}
        own = place.sentinel_options
        found.update({name: own[key] for name, key in OWN.items() if key in own})
        if place.name:
            found["name"] = place.name
        if place.options.get("connection_class") is SSLConnection:
            found["tls"] = True
        assert {"url": case["url"], **found, "shown": describe_target(case["url"])} == case
    for case in cases["refused"]:
        told = check_target(case["url"])
        assert told is not None and told.startswith(case["told"]), case
        # Whatever it was given, it may be a part of a password.
        assert "mar" not in told and "ker" not in told, case


def test_variables_mean_the_same_in_all_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = vectors("settings.json")
    known = {setting.env: (name, setting) for name, setting in TABLE.items()}
    for case in cases["taken"] + cases["refused"]:
        if case["variable"] not in known:
            continue
        name, setting = known[case["variable"]]
        with monkeypatch.context() as patch:
            patch.setenv(case["variable"], case["text"])
            if "told" in case:
                with pytest.raises(ConfigError) as error:
                    read_settings(setting.users[0], {})
                assert str(error.value) == case["told"]
            else:
                assert getattr(read_settings(setting.users[0], {}), name) * setting.env_factor == case["value"]


def test_every_wrong_one_is_a_sentence_behind_the_settings_name() -> None:
    assert all(str(check_target(value)).startswith(("must ", "names ", "has ")) for value in WRONG.values())
