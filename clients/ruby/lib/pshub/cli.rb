# frozen_string_literal: true

require "optparse"
require "pshub"
require "pshub/redis/away"
require "pshub/settings/duration"
require "pshub/task/loading"

module Pshub
  # The command pshub-worker-rb.
  class CLI
    # One Ctrl-C can arrive twice: from the terminal, and passed on by whatever runs this.
    SAME_PRESS_S = 0.25
    NAME = "pshub-worker-rb"
    # Without a file, the worker serves the Rails application of this folder.
    RAILS = "config/environment.rb"
    LEVELS = %w[debug info warn error silent].freeze
    BANNER = <<~TEXT
      Usage: pshub-worker-rb [options] file.rb ...

      Serves every task that the files declare. Without a file it serves the Rails application in this folder: app/tasks and its
      Active Job classes. Ctrl-C or SIGTERM stops it gracefully: it claims no more requests, running tasks
      finish within the grace period, and the rest returns to the queue. A second signal stops it at once. While Redis is
      unreachable, it keeps reconnecting. The log is JSON lines on stderr. kill -TTIN <pid> writes the stack of each thread there.
      A time is a number of seconds, or has a unit: 500ms, 2s, 1m, 1h, 1d.

    TEXT

    # Exit codes: 0 stopped gracefully, 1 a file failed while loading, 2 wrong usage or settings, 128 + n by signal n.
    def self.main(arguments) = new.main(arguments)

    def initialize
      @options = {}
    end

    def main(arguments)
      files = files_of(arguments)
      log_to_stderr
      tasks, settings = files.empty? ? rails_application : [Loading.tasks(files), {}]
      worker = Worker.new(tasks: tasks, **settings, **@options)
      serve(worker)
    rescue ConfigError => e
      warn "#{NAME}: #{as_flag(e.message)}"
      2
    rescue Loading::Broken => e
      warn "#{NAME}: #{e.message}"
      1
    end

    private

    def files_of(arguments)
      known = parser
      files = known.parse(apart(arguments))
      raise ConfigError, "Name a file that declares tasks, as in: #{NAME} images.rb" if files.empty? && !File.file?(RAILS)

      files
    rescue OptionParser::InvalidOption, OptionParser::AmbiguousOption => e
      name = e.args.first.split("=").first
      raise ConfigError, "There is no option #{name}.#{near(name, known)}"
    rescue OptionParser::MissingArgument => e
      raise ConfigError, "#{e.args.first} needs a value."
    rescue OptionParser::ParseError => e
      raise ConfigError, e.message
    end

    # Its tasks, and the settings of its config/pshub.yml.
    def rails_application
      require "rails"
      require "pshub/rails/railtie"
      logger = Pshub.logger
      Loading.load_file(RAILS, File.expand_path(RAILS))
      # The worker's own log stays what this command says it is.
      Pshub.logger = logger
      [Railtie.worker_tasks, SharedHub.settings(:worker)]
    rescue LoadError => e
      raise Loading::Broken, "#{RAILS} could not be loaded: #{Errors.message_of(e)}."
    end

    # --slots=4 as two words: optparse of Ruby 3.1 compares all of it with the names of flags.
    def apart(arguments)
      flags = arguments.take_while { |each| each != "--" }
      flags.flat_map { |each| each.match(/\A(--[a-z-]+)=(.*)\z/m)&.captures || [each] } + arguments.drop(flags.size)
    end

    # A second one would silently take the place of the first: workers in TypeScript serve several.
    def one_queue(name)
      raise ConfigError, "--queue was given twice. A worker in Ruby serves one queue; start one for each." if @options.key?(:queue)

      @options[:queue] = name
    end

    def near(flag, parser)
      flags = parser.to_a.filter_map { |line| line[/\A\s+--([a-z-]+)/, 1] }
      found = Names.near(flag.sub(/\A-+/, ""), flags).map { |each| "--#{each}" }
      found.empty? ? "" : " Did you mean #{found.join(' or ')}?"
    end

    def parser
      OptionParser.new(BANNER) do |parser|
        # What is an abbreviation today may be two options tomorrow.
        parser.require_exact = true
        parser.on("--redis URL", "default: PSHUB_REDIS, else redis://127.0.0.1:6379") { |v| @options[:redis] = v }
        parser.on("--queue NAME", "queue to serve, one (default)") { |v| one_queue(v) }
        parser.on("--slots N", "requests to run at once (4)") { |v| number(:slots, v) }
        parser.on("--job-slots N", "how many of the slots may run jobs (half)") { |v| number(:job_slots, v) }
        parser.on("--namespace NAME", "prefix of all keys (pshub)") { |v| @options[:namespace] = v }
        parser.on("--grace TIME", "grace period for running tasks when it stops (10s)") { |v| time(:grace, v) }
        parser.on("--lease TIME", "lease: others take over after this long without a heartbeat (4s)") { |v| time(:lease, v) }
        parser.on("--max-payload-bytes N", "largest arguments or result (1 MiB)") { |v| number(:max_payload_bytes, v) }
        parser.on("--max-backlog N", "requests that may wait in the queue (10000)") { |v| number(:max_backlog, v) }
        parser.on("--health-port PORT", "port that answers probes: /livez and /readyz") { |v| number(:health_port, v) }
        parser.on("--build TEXT", "build of your program, shown with the worker: a git commit or an image tag") { |v| @options[:build] = v }
        parser.on("--statsd HOST:PORT", "StatsD daemon for metrics") { |v| @options[:statsd] = v }
        parser.on("--name TEXT", "name in these metrics (PSHUB_NAME, else that of the host)") { |v| @options[:name] = v }
        parser.on("--log-level LEVEL", "debug, info, warn, error or silent (PSHUB_LOG_LEVEL, else info)") { |v| @level = v }
        parser.on("-h", "--help") { puts(parser) || exit }
        parser.on("--version") { puts(VERSION) || exit }
      end
    end

    # What is none is refused with those that are out of range.
    def number(name, text) = @options[name] = text.match?(/\A-?\d{1,15}\z/) ? text.to_i : text

    def time(name, text) = @options[name] = Duration.parse(text, "--#{name}")

    # What is wrong with an option, as who typed a flag knows it.
    def as_flag(message) = message.sub(/\Aoption (\w+)/) { "--#{Regexp.last_match(1).tr('_', '-')}" }

    def log_to_stderr
      $stderr.sync = true
      level = @level || Settings.variable("PSHUB_LOG_LEVEL") || "info"
      unless LEVELS.include?(level)
        origin = @level ? "--log-level" : "PSHUB_LOG_LEVEL"
        raise ConfigError, "#{origin} must be debug, info, warn, error or silent; it is '#{level}'."
      end

      least = level == "silent" ? Logger::UNKNOWN + 1 : Logger.const_get(level.upcase)
      Pshub.logger = Logger.new($stderr, level: least, progname: "pshub", formatter: Log::JsonLines.new)
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
      away = Away.new(worker.events, worker.redis)
      starting = Thread.new { start(worker, told, away) }
      code = told.pop
      Thread.new { starting.join && worker.stop }.join if code.zero?
      $stdout.flush
      # Handlers that were given up may still run; they must not keep the process.
      exit!(code)
    end

    # Where each thread is: the handlers run in those called pshub-slot. No lock may be taken in a trap.
    def write_stacks
      parts = Thread.list.map do |thread|
        "Thread #{thread.name || 'main'} (#{thread.status}):\n#{(thread.backtrace || []).map { |line| "  #{line}\n" }.join}"
      end
      $stderr.write("#{parts.join("\n")}\n")
    end

    def start(worker, told, away)
      worker.start
      reason = away.text
      Log.write(:error, "#{reason} Reconnecting.", {}) if reason && told.empty?
    rescue ConfigError => e
      warn "#{NAME}: #{e.message}"
      told << 2
    end
  end
end
