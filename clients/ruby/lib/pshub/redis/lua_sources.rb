# frozen_string_literal: true

require "json"

module Pshub
  # The Lua code that this gem brings along. A clone has its sources, a gem one file of each, which the gemspec writes.
  module LuaSources
    PACKAGE = File.expand_path("..", __dir__)
    CLONE = File.expand_path("../../../..", PACKAGE)
    # The files of a gem, and the folders of a clone that they are joined from.
    FOLDERS = { "redis/library.lua" => "src/queue/lua", "testing/memory/redis.lua" => "clients/memory" }.freeze

    module_function

    # Of one of FOLDERS. Raises Errno::ENOENT.
    def text(name)
      folder = File.join(CLONE, FOLDERS.fetch(name))
      parts = File.join(folder, "parts.json")
      return read(File.join(PACKAGE, name)) unless File.exist?(parts)

      JSON.parse(read(parts)).map { |part| part.end_with?(".lua") ? read(File.join(folder, part)) : part }.join
    end

    def read(path) = File.read(path, mode: "rb", encoding: Encoding::UTF_8)

    # Writes those files, for the gem that is built of them.
    def write
      FOLDERS.each_key do |name|
        file = File.join(PACKAGE, name)
        made = text(name)
        # Bundler reads the gemspec of a clone at each start, where the folder may be read-only.
        File.binwrite(file, made) unless File.exist?(file) && read(file) == made
      end
    end
  end
end
