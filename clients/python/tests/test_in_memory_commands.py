"""
The commands of the Redis in memory against those of a real one: the same words, one answer. pshub's functions run on both from the same text, so what
differs can only differ here. It is the same Redis in Ruby.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conftest import Server
from pshub.redis.client import pack
from pshub.testing import RedisError
from pshub.testing.memory.replies import read_reply
from pshub.testing.memory.server import MemoryRedis

Ask = Callable[[list[str]], Any]
Draw = Callable[[random.Random], list[str]]


@pytest.fixture
def real(server: Server) -> Iterator[Ask]:
    with socket.create_connection(("127.0.0.1", server.port)) as link:

        def ask(words: list[str]) -> Any:
            link.sendall(pack(words))
            data = b""
            while True:
                data += link.recv(65_536)
                try:
                    return _told(lambda: read_reply(data))
                except (ValueError, IndexError):
                    # Not whole yet.
                    continue

        yield ask


@pytest.fixture
def memory() -> Iterator[Ask]:
    redis = MemoryRedis()
    yield lambda words: _told(lambda: redis.command(*words))
    redis.close()


def _told(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except RedisError as error:
        return f"error {error}"


#: Where no order is promised.
UNORDERED = {"keys", "smembers", "hgetall", "hkeys", "hvals"}
NAMES = ("a", "ö")
WORDS = ("x", "y", "世界", "", "7")
PLACES = ("0", "1", "2", "-1", "-2", "5", "-9")
SCORES = ("1", "2", "-5", "1.5", "+inf", "-inf", "1795220163659000")
ENDS = (*SCORES, "(1", "(2", "(+inf", "(-inf")


def one(*of: Any) -> Draw:
    def draw(rng: random.Random) -> list[str]:
        found = rng.choice(of)
        return [found] if isinstance(found, str) else list(found)

    return draw


def some(each: Draw, most: int = 3) -> Draw:
    return lambda rng: [word for _ in range(rng.randint(1, most)) for word in each(rng)]


def maybe(*words: str) -> Draw:
    return lambda rng: [word for word in words if rng.random() < 0.5]


def line(name: str, *parts: Draw) -> Draw:
    return lambda rng: [name, *(word for part in parts for word in part(rng))]


key, word, place, score, end = one(*NAMES), one(*WORDS), one(*PLACES), one(*SCORES), one(*ENDS)
limit = one([], ["LIMIT", "0", "1"], ["LIMIT", "1", "2"], ["LIMIT", "1", "-1"], ["LIMIT", "3", "1"])
set_options = one([], ["NX"], ["XX"], ["GET"], ["NX", "GET"], ["PX", "50000"], ["KEEPTTL"], ["NX", "XX"], ["PX", "0"], ["BAD"])
zadd_options = one([], ["NX"], ["XX"], ["LT"], ["GT"], ["CH"], ["XX", "GT"], ["NX", "LT"], ["NX", "XX"])
KINDS: dict[str, list[Draw]] = {
    "texts": [
        line("get", key), line("mget", some(key)), line("set", key, word, set_options),
        line("getex", key, one([], ["PX", "50000"], ["PERSIST"], ["PXAT", "1"])), line("getrange", key, place, place),
        line("del", some(key)), line("unlink", some(key)), line("exists", some(key)), line("persist", key),
        line("pexpire", key, one("90000", "-1")), line("type", key), line("keys", one("*", "a*", "?", "x", "[ab]")), line("sadd", key, some(word)),
        line("smembers", key),
    ],
    "lists": [
        line("lpush", key, some(word)), line("rpush", key, some(word)), line("lpop", key, one([], ["2"], ["0"])), line("llen", key),
        line("lindex", key, place), line("lrange", key, place, place), line("ltrim", key, place, place),
        line("lrem", key, one("0", "1", "-1", "2", "-2"), word), line("lpos", key, word),
    ],
    "hashes": [
        line("hset", key, word, word, word, word), line("hset", key, word, word, word), line("hsetnx", key, word, word), line("hget", key, word),
        line("hmget", key, some(word)), line("hgetall", key), line("hkeys", key), line("hvals", key), line("hlen", key), line("hstrlen", key, word),
        line("hexists", key, word), line("hdel", key, some(word)), line("hincrby", key, word, one("1", "-2")),
    ],
    "sorted sets": [
        *[line("zadd", key, zadd_options, score, word)] * 4, line("zadd", key, score, word, score, word), line("zcard", key),
        line("zscore", key, word),
        line("zcount", key, end, end), line("zrange", key, place, place, maybe("REV", "WITHSCORES")),
        line("zrange", key, end, end, one("BYSCORE"), maybe("REV", "WITHSCORES"), limit),
        line("zrangebyscore", key, end, end, maybe("WITHSCORES"), limit),
        line("zrem", key, some(word)), line("zremrangebyscore", key, end, end), line("zremrangebyrank", key, place, place),
        line("zpopmin", key, one([], ["2"])),
    ],
}  # fmt: skip
LOOK_AT_ALL = [
    words
    for name in NAMES
    for words in (["get", name], ["lrange", name, "0", "-1"], ["hgetall", name], ["smembers", name], ["zrange", name, "0", "-1", "WITHSCORES"])
]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_answers_as_one_of_a_real_redis_does_whatever_was_done_before(kind: str, real: Ask, memory: Ask) -> None:
    others = [draw for draws in KINDS.values() for draw in draws]
    for seed in range(60):
        rng = random.Random(seed)
        drawn = [rng.choice(KINDS[kind] if rng.random() < 0.93 else others)(rng) for _ in range(45)]
        for words in [["flushall"], *drawn, *LOOK_AT_ALL]:
            expected, said = real(words), memory(words)
            if words[0] in UNORDERED and isinstance(expected, list) and isinstance(said, list):
                expected, said = sorted(expected), sorted(said)
            assert said == expected, f"{' '.join(words)}, seed {seed}"


@pytest.mark.parametrize(
    "body",
    [
        "return string.format('%d %s %5d|%05d|%i', 1795220163659000, 'x', 7, -7, '12')",
        "return { tostring(1795220163659), 1e15 .. '', 2 / 3 .. '', 10 / 2 .. '', -0.5 .. '' }",
        "redis.call('SET', 'n', 1795220163659) return redis.call('GET', 'n')",
        "return { 2.9, -2.9, true, false, 3 }",
        "return { 1, nil, 3 }",
        """local read = cjson.decode('{"a":[1,2.5,null,{}],"b":"\\\\u00e4 \\\\ud83c\\\\udf88 a/b \\\\\\\\ \\\\" \\\\n","c":{"d":[]}}')
        return { cjson.encode(read.b), cjson.encode(read.a[2]), cjson.encode({ 'x', 1 }), cjson.encode({}), tostring(read.a[3] == cjson.null) }""",
        "return cjson.encode(cjson.decode('[-1.5e3, 12345678901234, true, false, \"x\"]'))",
        "return { tostring(pcall(cjson.decode, '{nonsense')), tostring(pcall(cjson.decode, '[1,')), tostring(pcall(cjson.decode, '[1] 2')) }",
        "redis.call('SET', 's', 'x') local said = redis.pcall('LLEN', 's') return said.err",
        "return redis.error_reply('ERR no such thing')",
        "return { string.match('pshub:{q}:jobs', '{(.-)}'), (string.gsub('a.b', '%.', '%%')) }",
        "return nil",
    ],
)
def test_a_function_answers_as_in_a_real_redis(body: str, real: Ask, memory: Ask) -> None:
    library = f"#!lua name=probe\nredis.register_function('probe', function(KEYS, ARGV) {body} end)"
    assert memory(["function", "load", "REPLACE", library]) == real(["function", "load", "REPLACE", library]) == b"probe"
    assert memory(["fcall", "probe", "0"]) == real(["fcall", "probe", "0"])
    real(["function", "flush"])
