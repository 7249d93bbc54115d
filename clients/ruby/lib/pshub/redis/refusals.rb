# frozen_string_literal: true

module Pshub
  # What Redis' error answers mean and what to do about them; the one place that words it.
  module Refusals
    ADVICE = {
      /\AWRONGPASS/ => "Redis rejected this user or password; correct them in the URL, redis://user:password@host",
      /\ANOAUTH/ => "Redis requires a password; put it into the URL, redis://user:password@host",
      /\AERR Function not found/ => "this Redis does not have pshub's library, and this user may not load it; " \
                                    "run 'pshub install' as a user who may",
      /unknown command.{0,3}\bFCALL\b/i => "this server is too old, or is not Redis; Redis 7.0 or newer is required",
      /unknown command.{0,3}\b(TIME|H[A-Z]+)\b/i => "this is a sentinel, or not Redis at all; for sentinels use redis+sentinel://host:26379/name",
      # The second is what a function hears in Redis 7.0.
      /\A(NOPERM|ERR The user executing the script can't|ERR ACL failure in script)/ =>
        "the Redis user lacks a right; 'pshub check' names it, and the rule that grants it",
      /\AREADONLY/ => "this server is a replica, which refuses writes; connect to its master",
      /\A(MOVED|ASK|TRYAGAIN)\b/ => "a slot of the Cluster is moving to another node",
      /\ACLUSTERDOWN/ => "no node of the Cluster serves that slot",
      /\AOOM/ => "Redis is full",
      /\AMISCONF/ => "Redis cannot write to its disk",
      /\ALOADING/ => "Redis is still loading its data"
    }.freeze

    module_function

    # An error's text with what to do about it, where that is known; to end a sentence with, without a full stop.
    def explained(message)
      first = message.to_s.lines.first&.chomp || "no reason given"
      _, advice = ADVICE.find { |pattern, _| pattern.match?(first) }
      return "#{advice} (#{first[/\A.*?(?=\. |, | script: \S+, |\.?\z)/]})" if advice

      # Redis quotes the arguments of a command that it does not know, and those are payloads.
      first.sub(/, with args beginning with: .*/, "")[0, 200].delete_suffix(".")
    end

    # Of Redis' answer that it does not know a user or password: whether white space, which nobody sees, came along with one of them.
    def with_blanks_noted(message, options)
      which = { password: "password", username: "user" }.find { |name, _| options[name].to_s.match?(/\A\s|\s\z/) }&.last
      which ? message.sub(/\AWRONGPASS /, "WRONGPASS the #{which} that was given begins or ends with white space: ") : message
    end

    # Redis does not let this user in, or not do this: it stays so until somebody changes a setting.
    def about_rights?(message) = message.match?(/\A(WRONGPASS|NOAUTH|NOPERM)\b/)
  end
end
