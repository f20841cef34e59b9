-- A step of a store: ARGV is its name and its arguments.
--
-- A login's sessions are a list, the oldest first. An entry is the time of its expiry by the clock of Redis (13 digits, in
-- milliseconds), the hash of its token (64 digits), and the sealed session.
local sessions, login_ended = KEYS[1], KEYS[2]

local function now()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function lives(entry) return entry and tonumber(entry:sub(1, 13)) > now() end
local function token(entry) return entry:sub(14, 77) end
local function sealed(entry) return entry:sub(78) end

local function has_ended() return redis.call('EXISTS', login_ended) == 1 end
local function drop_expired()
    local oldest = redis.call('LINDEX', sessions, 0)
    while oldest and not lives(oldest) do
        redis.call('LPOP', sessions)
        oldest = redis.call('LINDEX', sessions, 0)
    end
end

local steps = {}

function steps.newest()
    local newest = redis.call('LINDEX', sessions, -1)
    return not has_ended() and lives(newest) and sealed(newest)
end

function steps.keep(lifetime, replaced, new_token, new_sealed)
    if has_ended() then return {'ended'} end
    drop_expired()
    local newest = redis.call('LINDEX', sessions, -1)
    if newest and token(newest) == new_token then return {'stored'} end
    if newest and token(newest) ~= replaced then return {'other', token(newest), sealed(newest)} end
    redis.call('RPUSH', sessions, string.format('%013.0f', now() + lifetime) .. new_token .. new_sealed)
    redis.call('PEXPIRE', sessions, lifetime)
    return {'stored'}
end

function steps.finish(remember_for, prefix)
    if not has_ended() then drop_expired() end
    redis.call('SET', login_ended, '', 'PX', remember_for)
    redis.call('PEXPIRE', sessions, remember_for)
    local left = {}
    for number, entry in ipairs(redis.call('LRANGE', sessions, 0, -1)) do
        redis.call('SET', prefix .. token(entry), '', 'PX', remember_for)
        left[number] = sealed(entry)
    end
    return left
end

function steps.forget(forgotten)
    for _, entry in ipairs(redis.call('LRANGE', sessions, 0, -1)) do
        if token(entry) == forgotten then redis.call('LREM', sessions, 0, entry) end
    end
end

return steps[ARGV[1]](unpack(ARGV, 2))
