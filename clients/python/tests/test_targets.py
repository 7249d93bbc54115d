"""How users name their Redis: URLs and options, of one server, of sentinels, of a Cluster."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio.connection import SSLConnection

from pshub import ConfigError, Hub
from pshub.redis.target import Place, check_target, describe_target, read_target

TWO = [{"host": "h1", "port": 26379}, {"host": "h2", "port": 5}]
PORTLESS = [{"host": "h1"}, {"host": "h2", "port": 5}]


def test_one_server() -> None:
    place = read_target("redis://me:p%40ss@h1:7000/0")
    assert (place.kind, list(place.nodes)) == ("one", [])
    assert {**place.options} == {"host": "h1", "port": 7000, "username": "me", "password": "p@ss", "db": 0}
    assert read_target("unix:///tmp/redis.sock").options["path"] == "/tmp/redis.sock"
    assert read_target({"host": "h1", "password": "x"}) == Place("one", (), {"host": "h1", "password": "x"})


def test_sentinels() -> None:
    place = read_target("redis+sentinel://me:p%40ss@h1,[::1]:5/mymaster?sentinelUsername=s&sentinelPassword=t%26")
    assert (place.kind, place.name) == ("sentinel", "mymaster")
    assert list(place.nodes) == [("h1", 26379), ("::1", 5)]
    assert {**place.options} == {"username": "me", "password": "p@ss"}
    assert {**place.sentinel_options} == {"username": "s", "password": "t&"}
    # Without their own none: the data servers' are not theirs.
    assert read_target("redis+sentinel://me:secret@h1/m").sentinel_options == {}
    given = {"sentinels": PORTLESS, "name": "m", "password": "a", "sentinel_password": "b", "ssl": True}
    assert read_target(given) == Place("sentinel", [("h1", 26379), ("h2", 5)], {"password": "a", "ssl": True}, {"password": "b", "ssl": True}, "m")


def test_a_cluster() -> None:
    place = read_target("redis+cluster://:p@h1,h2:7001")
    assert place == Place("cluster", [("h1", 6379), ("h2", 7001)], {"password": "p"})
    assert read_target({"cluster": PORTLESS, "username": "u"}) == Place("cluster", [("h1", 6379), ("h2", 5)], {"username": "u"})


@pytest.mark.parametrize("kind, name", [("sentinel", "/m"), ("cluster", "")])
def test_tls_is_to_all_of_them(kind: str, name: str) -> None:
    place = read_target(f"rediss+{kind}://h1{name}?ssl_cert_reqs=none")
    wanted = {"connection_class": SSLConnection, "ssl_cert_reqs": "none"}
    assert place.options == wanted
    assert place.sentinel_options == (wanted if kind == "sentinel" else {})


WRONG: dict[str, Any] = {
    "must be a URL like redis://127.0.0.1:6379": "localhost",
    "must be a URL like": "redis://h1:port",
    "must be a URL like redis": 6379,
    "names several hosts: .*redis\\+sentinel://.*redis\\+cluster://": "redis://h1:1,h2:2",
    "how the sentinels call the master, as in redis\\+sentinel://": "redis+sentinel://h1:26379",
    "must name hosts with their ports, as in redis\\+sentinel://": "redis+sentinel://h1:26379,,h2/m",
    "must name hosts with their ports, as in redis\\+cluster://": "redis+cluster://h1:99999",
    "must not name a database": "redis+cluster://h1/3",
    "must not name a database: use 0": "redis://h1/3",
    "must not name a database: use": {"cluster": TWO, "db": 1},
    "names sentinelPassword, which a Cluster has no use for": "redis+cluster://h1?sentinelPassword=x",
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
    "redis://h1:7000/0": "redis://me:sec@ret@h1:7000/0?password=secret",
    "redis+sentinel://h1:26379,h2:5/m": "redis+sentinel://me:secret@h1:26379,h2:5/m?sentinelPassword=secret",
    "redis+sentinel://...": "redis+sentinel://me:secret@h1/m?sentinelPassword=sec@ret",
    "redis://...": "redis://me:sec?ret@h1:7000",
    "rediss+sentinel://h1:26379,h2:5/m": {"sentinels": TWO, "name": "m", "sentinel_password": "secret", "ssl": True},
    "redis+cluster://h1:26379,h2:5": {"cluster": TWO, "username": "me", "password": "secret"},
    "h1:7000": {"host": "h1", "port": 7000, "password": "secret"},
}


@pytest.mark.parametrize("shown", SHOWN)
def test_what_is_shown_has_no_user_and_no_password(shown: str) -> None:
    assert describe_target(SHOWN[shown]) == shown


def test_every_wrong_one_is_a_sentence_behind_the_settings_name() -> None:
    assert all(str(check_target(value)).startswith(("must ", "names ")) for value in WRONG.values())
