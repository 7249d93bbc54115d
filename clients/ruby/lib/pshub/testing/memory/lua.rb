# frozen_string_literal: true

require "fiddle"
require_relative "../../wire/errors"

module Pshub
  # Lua 5.1, which Redis has too, as the system's library has it, or LuaJIT in its place. One text is run, and what that returns is called.
  class Lua
    # PSHUB_LUA names it outright.
    FILES = %w[
      liblua5.1.so.0 liblua5.1.so liblua-5.1.so libluajit-5.1.so.2 liblua5.1.dylib libluajit-5.1.2.dylib libluajit-5.1.dylib
      /opt/homebrew/lib/libluajit-5.1.2.dylib /usr/local/lib/libluajit-5.1.2.dylib lua51.dll
    ].freeze
    MISSING = "Tests without Redis run the functions of Redis in Lua 5.1: apt-get install liblua5.1-0 (or libluajit-5.1-2; brew install luajit), " \
              "or name the library in PSHUB_LUA."
    P, I, V = Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_VOID
    FUNCTIONS = {
      "luaL_newstate" => [[], P], "luaL_openlibs" => [[P], V], "luaL_loadbuffer" => [[P, P, Fiddle::TYPE_SIZE_T, P], I],
      "lua_pcall" => [[P, I, I, I], I], "lua_pushlstring" => [[P, P, Fiddle::TYPE_SIZE_T], V], "lua_pushvalue" => [[P, I], V],
      "lua_gettop" => [[P], I], "lua_settop" => [[P, I], V], "lua_tolstring" => [[P, I, P], P], "lua_close" => [[P], V]
    }.freeze
    ALL_RESULTS = -1

    class << self
      # Raises ConfigError when the system has none.
      def functions
        @functions ||= FUNCTIONS.to_h do |name, (given, returned)|
          [name, Fiddle::Function.new(library[name], given, returned, name: name, need_gvl: true)]
        end
      rescue Fiddle::DLError => e
        raise ConfigError, "PSHUB_LUA names #{ENV.fetch('PSHUB_LUA', nil)}, which is no Lua 5.1: #{e.message}. #{MISSING}"
      end

      private

      def library
        @library ||= named || FILES.lazy.filter_map { |file| opened(file) }.first || raise(ConfigError, MISSING)
      end

      def named
        file = ENV.fetch("PSHUB_LUA", "")
        Fiddle.dlopen(file) unless file.empty?
      end

      def opened(file)
        Fiddle.dlopen(file)
      rescue Fiddle::DLError
        nil
      end
    end

    def initialize(text)
      @functions = Lua.functions
      @state = run("luaL_newstate")
      @length = Fiddle::Pointer.malloc(Fiddle::SIZEOF_SIZE_T, Fiddle::RUBY_FREE)
      run("luaL_openlibs", @state)
      raise ConfigError, texts.join(" ") unless run("luaL_loadbuffer", @state, text, text.bytesize, "=memory").zero?

      pcall(0, 1)
    end

    # Texts in, texts out. What the first text returned stays at the bottom.
    def call(*words)
      run("lua_pushvalue", @state, 1)
      words.each { |word| run("lua_pushlstring", @state, word, word.bytesize) }
      pcall(words.size, ALL_RESULTS)
      texts.drop(1).tap { run("lua_settop", @state, 1) }
    end

    def close
      run("lua_close", @state) if @state
      @state = nil
    end

    private

    def run(name, *given) = @functions.fetch(name).call(*given)

    def pcall(given, returned)
      return if run("lua_pcall", @state, given, returned, 0).zero?

      problem = texts.last
      run("lua_settop", @state, 1)
      raise "The Redis in memory failed: #{problem}"
    end

    # All that is on the stack; nil for what is no text.
    def texts
      (1..run("lua_gettop", @state)).map do |at|
        text = run("lua_tolstring", @state, at, @length)
        text.null? ? nil : text[0, @length[0, Fiddle::SIZEOF_SIZE_T].unpack1("J")]
      end
    end
  end
end
