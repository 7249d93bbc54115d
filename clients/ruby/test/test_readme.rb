# frozen_string_literal: true

require_relative "helper"

# What README.md says of jobs runs as it stands there, and in its order.
class TestReadme < PshubTest
  README = File.read(File.expand_path("../README.md", __dir__)).freeze

  def blocks(chapter) = README[/^## #{chapter}\n.*?(?=^## )/m].scan(/^```ruby\n(.*?)^```$/m).flatten

  def test_the_chapter_on_jobs
    enqueuing, many, timed, tasks = blocks("Jobs")
    names = ["my_task:1.0", "report:1.0"]
    place = Module.new
    place.const_set(:HUB, hub)
    before = Pshub.tasks.dup
    place.module_eval(tasks)
    declared = Pshub.tasks - before
    settled = Thread::Queue.new
    keyed = %w[ship:1.0 index:1.0]
    serving = worker(*names.map { |name| declare(name) { |args| args } }, *declared.select { |task| keyed.include?(task.full_name) })
    serving.events.on("task:settled") { |event| settled << [event[:task], event[:ok]] if keyed.include?(event[:task]) }
    place.module_eval("#{enqueuing}\nJOB, STATE = job, job.status.state", "README.md")
    assert_equal ["done", { "x" => 1 }], [place::STATE, place::JOB.result]
    eventually("the jobs with a key") { settled.size == 2 }
    assert_equal [["index:1.0", true], ["ship:1.0", true]], Array.new(2) { settled.pop }.sort
    place.module_eval("#{many}\nMANY, CHAIN, BATCH = many, chain, batch", "README.md")
    assert_equal [2, { "sum" => { "x" => 1 } }], [place::MANY.ids.size, place::CHAIN.result]
    eventually("the batch") { place::BATCH.status.to_h.values_at(:total, :done, :dead) == [2, 2, 0] }
    place.module_eval("#{timed}\nSCHEDULE, DEAD, KEY = schedule, dead, key", "README.md")
    assert_equal ["nightly", "default", 0], [place::SCHEDULE.name, place::SCHEDULE.queue, place::DEAD.count]
    assert_equal %w[default order-17], [place::KEY.queue, place::KEY.key]
  ensure
    declared&.each { |task| Pshub.tasks.delete(task) }
  end

  def test_the_chapter_on_streams
    tasks, reading = blocks("Streams and progress")
    place = Module.new
    place.const_set(:HUB, hub)
    before = Pshub.tasks.dup
    place.extend(Pshub::DSL)
    place.module_eval(tasks)
    declared = Pshub.tasks - before
    worker(*declared)
    place.module_eval("#{reading}\nREAD = [words, first, whole, rows]", "README.md")
    assert_equal [%w[to be or], %w[to be], %w[to be or], [{ "row" => 0 }, { "row" => 1 }]], place::READ
  ensure
    declared&.each { |task| Pshub.tasks.delete(task) }
  end
end
