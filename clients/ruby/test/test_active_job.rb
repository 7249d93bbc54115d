# frozen_string_literal: true

require_relative "helper"
require "minitest/mock"
begin
  require "active_job"
  require "active_job/queue_adapters/pshub_adapter"
rescue LoadError => e
  ACTIVE_JOB_MISSING = e.message
end

# The adapter with the Active Job that is installed, or that RUBYLIB names.
class TestActiveJob < PshubTest
  unless defined?(ACTIVE_JOB_MISSING)
    ActiveJob::Base.logger = Logger.new(nil)
    ActiveJob::Base.queue_adapter = :pshub
    RAN = Thread::Queue.new

    # Found again by its id in another process.
    Person = Struct.new(:id) do
      include GlobalID::Identification

      def self.find(id) = new(id.to_i)
    end
    GlobalID.app = "shop"

    class GreetJob < ActiveJob::Base
      queue_as "mail"
      retry_on(ArgumentError, wait: 0, attempts: 2) { |job, error| RAN << [:over, job.executions, error.message] }
      discard_on(IOError)

      def perform(person, how: "hello", fails: nil)
        RAN << [person.id, how, executions, provider_job_id]
        raise Object.const_get(fails), "no" if fails
      end
    end

    class StubbornJob < ActiveJob::Base
      self.pshub_options = { retries: 1, backoff: 0, job_timeout_ms: 60_000 }

      def perform = (RAN << executions) && raise("still wrong")
    end
  end

  def setup
    skip "Active Job is not installed: #{ACTIVE_JOB_MISSING}" if defined?(ACTIVE_JOB_MISSING)
    super
    RAN.clear
    Pshub.hub = hub
  end

  def serve(queue = "mail") = worker(*Pshub::ActiveJobs.tasks, queue: queue)

  def test_a_job_runs_with_its_objects_and_its_id
    serve
    job = GreetJob.perform_later(Person.new(7), how: "good morning")
    assert_equal [7, "good morning", 1, job.provider_job_id], RAN.pop
    assert_equal ["active_job/test_active_job/greet_job:1.0"], Pshub::ActiveJobs.tasks.map(&:full_name).grep(/greet/)
  end

  def test_the_log_names_the_adapter
    lines = StringIO.new
    ActiveJob::Base.stub(:logger, Logger.new(lines)) { GreetJob.perform_later(Person.new(1)) }
    assert_match(/Enqueued .*GreetJob .* to Pshub\(mail\)/, lines.string)
  end

  def test_a_job_waits_for_its_time
    job = GreetJob.set(wait_until: Time.now + 3600, queue: "later", priority: -1).perform_later(Person.new(1))
    queue = server.client.zrange("pshub:{later}:scheduled", 0, -1)
    assert_equal [true, true], [queue.size == 1, queue.first.include?(job.provider_job_id)]
  end

  def test_a_job_whose_time_is_long_past_is_due_at_once
    serve
    GreetJob.set(wait_until: Time.at(-1)).perform_later(Person.new(1))
    assert_equal 1, RAN.pop.first
  end

  def test_active_job_decides_about_retries
    serve
    GreetJob.perform_later(Person.new(1), fails: "ArgumentError")
    assert_equal [[1, 1], [1, 2]], (Array.new(2) { RAN.pop.values_at(0, 2) })
    assert_equal [:over, 2, "no"], RAN.pop
    GreetJob.perform_later(Person.new(2), fails: "IOError")
    assert_equal 2, RAN.pop.first
    GreetJob.perform_later(Person.new(3), fails: "KeyError")
    assert_equal 3, RAN.pop.first
    # What it raises in the end is dead, at once.
    eventually("the dead job") { Pshub.hub.dead("mail").count == 1 }
    assert_empty RAN
  end

  def test_a_class_may_leave_retries_to_pshub
    serve("default")
    StubbornJob.perform_later
    assert_equal [1, 2], [RAN.pop, RAN.pop]
    eventually("the dead job") { Pshub.hub.dead("default").count == 1 }
  end

  def test_many_at_once
    skip "Active Job has it since 7.1" unless ActiveJob.respond_to?(:perform_all_later)
    serve
    jobs = Array.new(3) { |id| GreetJob.new(Person.new(id)) }
    ActiveJob.perform_all_later(jobs, [GreetJob.new(Person.new(9)).set(wait: 3600)])
    assert_equal [0, 1, 2], Array.new(3) { RAN.pop.first }.sort
    assert jobs.all? { |job| job.successfully_enqueued? && job.provider_job_id }
    assert_equal 1, server.client.zcard("pshub:{mail}:scheduled")
  end

  def test_what_could_not_be_enqueued_is_raised
    assert_raises(Pshub::InvalidArgs) { GreetJob.set(queue: "no such/queue").perform_later(Person.new(1)) }
  end
end
