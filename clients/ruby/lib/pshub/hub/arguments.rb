# frozen_string_literal: true

require_relative "../wire/errors"
require_relative "../wire/keys"
require_relative "../wire/payload"

module Pshub
  # What a call is made of, and why it is refused before anything is sent.
  module Arguments
    module_function

    # A task's name, of what is called.
    def name_of(called) = called.respond_to?(:full_name) ? called.full_name : called

    # What travels of the arguments of a job, where the task that was given says how that is made of them. Raises InvalidArgs.
    def serialized(task, args)
      task.respond_to?(:serialized) ? task.serialized(args) : args
    rescue StandardError => e
      raise InvalidArgs.new("#{name_of(task)}: its serialize raised: #{Errors.message_of(e)}.", task: name_of(task))
    end

    # Why a call cannot be made at all; nil when it can. +unknown+ are keywords that the method does not have.
    def wrong(called, timeout, queue, on_progress = nil, unknown = {})
      return NoSuchTask.new("The task must be a name like my_task:1.0, or the return value of task.") unless called.is_a?(String)
      return unknown_option(called, unknown.keys.first) unless unknown.empty?

      unless queue.nil? || Keys.queue_name?(queue)
        return InvalidArgs.new("queue must be the name of a queue, not #{Keys.shown(queue)}.", task: called)
      end
      unless on_progress.nil? || on_progress.respond_to?(:call)
        return InvalidArgs.new("on_progress must respond to call, not #{on_progress.inspect[0, 80]}.", task: called)
      end
      return nil if timeout.nil?

      unless timeout.is_a?(Numeric) && timeout.real? && !timeout.to_f.nan?
        return InvalidArgs.new("timeout must be a number of seconds, not #{timeout.inspect}.", task: called)
      end

      expired(called) if timeout <= 0
    end

    # Most often it is an argument of the task, whose braces were left out.
    def unknown_option(called, name)
      InvalidArgs.new("#{called}: '#{name}' is not an option of a call. Put the task's arguments in braces, before the options: " \
                      "call(\"#{called}\", { #{name}: ... }, timeout: 2).", task: called)
    end

    # It certainly was not sent.
    def expired(called) = Expired.new("No time is left to call #{called}.", task: called)

    # The arguments as JSON. Raises InvalidArgs or PayloadTooLarge.
    def encode(route, args, max_bytes)
      text = Payload.encode(args)
      if Payload.exceeds?(text, max_bytes)
        raise PayloadTooLarge.new(
          "The arguments of #{route.task} are larger than #{max_bytes} bytes; pass a reference to them instead.", task: route.task
        )
      end
      # What counts is what travels: a symbol is a text there.
      problems = route.schema ? route.schema.problems(Payload.decode(text)) : []
      raise Errors.of_problems("InvalidArgs", problems, route.task) unless problems.empty?

      text
    rescue Payload::Problem => e
      raise Errors.of_problems("InvalidArgs", [e.problem], route.task)
    end
  end
end
