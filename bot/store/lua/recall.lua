#!lua flags=allow-oom
return {redis.call('GET', summary), redis.call('LRANGE', history, -ARGV[2], -1)}
