# frozen_string_literal: true

module Pshub
  # What Redis' error answers mean and what to do about them; the one place that words it.
  module Refusals
    LACKS = "the Redis user lacks a right; 'pshub check' names it, and the rule that grants it"
    CLUSTER = "this is a Cluster node; this version of pshub does not connect to Clusters"
    ADVICE = {
      "WRONGPASS" => "Redis does not accept this user or password; correct them in its URL, redis://user:password@host",
      "NOAUTH" => "Redis wants a password; give it in its URL, redis://user:password@host",
      "NOPERM" => LACKS,
      "ERR The user executing the script can't" => LACKS,
      "READONLY" => "this server is a replica, which refuses writes; connect to its master",
      "MOVED" => CLUSTER,
      "CROSSSLOT" => CLUSTER,
      "CLUSTERDOWN" => CLUSTER,
      "OOM" => "Redis is full",
      "MISCONF" => "Redis cannot write to its disk",
      "LOADING" => "Redis is still loading its data"
    }.freeze

    module_function

    # An error's text with what to do about it, where that is known; to end a sentence with, without a full stop.
    def explained(message)
      first = message.to_s.lines.first&.chomp || "no reason given"
      ADVICE.each do |prefix, advice|
        return "#{advice} (#{first[/\A.*?(?=\. |, |\.?\z)/]})" if first.start_with?(prefix)
      end
      first[0, 200].delete_suffix(".")
    end
  end
end
