# frozen_string_literal: true

require "optparse"
require "pshub"

module Pshub
  # The command pshub-worker-rb.
  class CLI
    # One Ctrl-C can arrive twice: from the terminal, and passed on by whatever runs this.
    SAME_PRESS_S = 0.25
    BANNER = <<~TEXT
      Usage: pshub-worker-rb [options] file.rb ...

      Serves every task that the files declare. Ctrl-C or SIGTERM stop it gracefully: it takes no more work, lets what runs finish
      within the grace, and puts the rest back for other workers. A second one ends it at once. While Redis is away it goes on
      trying. The log is lines of JSON on stderr. kill -TTIN <pid> has it write there where each thread is.

    TEXT

    # Exit codes: 0 stopped gracefully, 1 a file failed while it was loaded, 2 wrong usage or settings, 128 + n by signal n.
    def self.main(arguments) = new.main(arguments)

    def initialize
      @options = {}
      @level = ENV.fetch("PSHUB_LOG_LEVEL", "info")
    end

    def main(arguments)
      files = parser.parse(arguments)
      log_to_stderr
      worker = Worker.new(tasks: load_tasks(files), **@options)
      serve(worker)
    rescue ConfigError, OptionParser::ParseError => e
      warn "pshub-worker-rb: #{e.message}"
      2
    end

    private

    def parser
      OptionParser.new(BANNER) do |parser|
        parser.on("--redis URL", "default: PSHUB_REDIS, else redis://127.0.0.1:6379") { |v| @options[:redis] = v }
        parser.on("--queue NAME", "queue to serve (default)") { |v| @options[:queue] = v }
        parser.on("--slots N", Integer, "calls to run at once (4)") { |v| @options[:slots] = v }
        parser.on("--job-slots N", Integer, "how many of these may run jobs (half)") { |v| @options[:job_slots] = v }
        parser.on("--namespace NAME", "prefix of all keys (pshub)") { |v| @options[:namespace] = v }
        parser.on("--grace SECONDS", Float, "what runs may take when it is told to stop (10)") { |v| @options[:grace] = v }
        parser.on("--lease SECONDS", Float, "others take over when it is silent for this long (4)") { |v| @options[:lease] = v }
        parser.on("--max-payload-bytes N", Integer, "largest arguments or result (1 MiB)") { |v| @options[:max_payload_bytes] = v }
        parser.on("--max-backlog N", Integer, "requests that may wait in the queue (10000)") { |v| @options[:max_backlog] = v }
        parser.on("--statsd HOST:PORT", "send metrics there") { |v| @options[:statsd] = v }
        parser.on("--log-level LEVEL", %w[debug info warn error silent], "info") { |v| @level = v }
        parser.on("--version") { puts(VERSION) || exit }
      end
    end

    def log_to_stderr
      $stderr.sync = true
      level = { "silent" => Logger::UNKNOWN + 1 }.fetch(@level) { Logger.const_get(@level.upcase) }
      Pshub.logger = Logger.new($stderr, level: level, progname: "pshub", formatter: Log::JsonLines.new)
    rescue NameError
      raise ConfigError, "PSHUB_LOG_LEVEL must be debug, info, warn, error or silent; it is #{@level.inspect}."
    end

    def load_tasks(files)
      raise ConfigError, "name a file that declares tasks" if files.empty?

      TOPLEVEL_BINDING.receiver.extend(DSL)
      files.each { |file| load_file(file) }
      Pshub.tasks
    end

    def load_file(file)
      before = Pshub.tasks.size
      raise ConfigError, "there is no file #{file}" unless File.file?(file)

      load File.expand_path(file)
      raise ConfigError, "#{file} declares no task with task." if Pshub.tasks.size == before
    rescue ConfigError
      raise
    rescue StandardError, ScriptError => e
      Log.write(:error, "a file failed while it was loaded", { file: file }, e)
      exit!(1)
    end

    # Signals are only noted where they come; what they ask for is done by threads, so that a second one is heard meanwhile.
    def serve(worker)
      told = Thread::Queue.new
      noted_at = nil
      { "TERM" => 15, "INT" => 2 }.each do |name, number|
        trap(name) do
          now = Clock.now
          # At once: the lease ends by itself, and others take over.
          exit!(128 + number) if noted_at && now - noted_at > SAME_PRESS_S
          noted_at ||= now
          told << 0
        end
      end
      trap("TTIN") { write_stacks }
      starting = Thread.new { start(worker, told) }
      code = told.pop
      Thread.new { starting.join && worker.stop }.join if code.zero?
      $stdout.flush
      # Handlers that were given up may still run; they must not keep the process.
      exit!(code)
    end

    # Where each thread is: the handlers run in those called pshub-slot. No lock may be taken in a trap.
    def write_stacks
      parts = Thread.list.map do |thread|
        "Thread #{thread.name || "main"} (#{thread.status}):\n#{(thread.backtrace || []).map { |line| "  #{line}\n" }.join}"
      end
      $stderr.write("#{parts.join("\n")}\n")
    end

    def start(worker, told)
      worker.start
    rescue ConfigError => e
      warn "pshub-worker-rb: #{e.message}"
      told << 2
    end
  end
end
