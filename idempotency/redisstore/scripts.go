package redisstore

// Answers of scripts, except for a refused claim.
const (
	notOwner = 0
	done     = 1
)

// prologue begins each script. The owner is ARGV[1]. The time is read once, in milliseconds
// since 1970.
const prologue = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local raw = redis.call('GET', KEYS[1])
local item = raw and cjson.decode(raw)
local own = item and item.owner == ARGV[1]
local in_progress = item and item.status == 'INPROGRESS'
local ends = in_progress and tonumber(item.in_progress_expiration)

local function set(lasts)
	item.expiration = math.ceil((now + lasts) / 1000)
	redis.call('SET', KEYS[1], cjson.encode(item), 'PX', string.format('%.0f', math.max(1, lasts)))
	return 1
end
`

// A claim without an end is from a Powertools function without a deadline: it lasts until the
// key is deleted. The script returns any other value for foundOf to refuse.
const claim = prologue + `
local new_ends = now + ARGV[2]
if item then
	local ended = in_progress and ends and ends < now
	if not in_progress or (not own and not ended) then
		return {raw, ends and ends - now or redis.call('PTTL', KEYS[1])}
	end
	if own and ends >= new_ends then
		return 1
	end
end
item = {status = 'INPROGRESS', owner = ARGV[1], in_progress_expiration = new_ends, remember = tonumber(ARGV[3])}
if ARGV[4] ~= '' then
	item.validation = ARGV[4]
end
return set(ARGV[2] + ARGV[3] * 1000)
`

const renew = prologue + `
if not own or not in_progress then
	return 0
end
if ends >= now + ARGV[2] then
	return 1
end
item.in_progress_expiration = now + ARGV[2]
return set(ARGV[2] + item.remember * 1000)
`

// The content of the claim stays unless the completion has one.
const complete = prologue + `
if not own then
	return 0
end
local validation = item.validation
if ARGV[3] ~= '' then
	validation = ARGV[3]
end
item = {status = 'COMPLETED', owner = ARGV[1], validation = validation}
if ARGV[4] ~= '' then
	item[ARGV[4]] = ARGV[5]
end
return set(tonumber(ARGV[2]))
`

// A key that is gone may have been deleted by an earlier try of this call.
const release = prologue + `
if not item then
	return 1
end
if not own or not in_progress then
	return 0
end
redis.call('DEL', KEYS[1])
return 1
`
