-- Health of an object of any kind of tunnel-operator.dev for Argo CD. It agrees with kstatus, except that what is paused is
-- Suspended.
local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local ready = conditions.Ready or {}

local function holds(type)
  return conditions[type] ~= nil and conditions[type].status == "True"
end

local function health()
  if obj.metadata.deletionTimestamp ~= nil then return "Progressing", ready.message end
  if ready.reason == "Paused" then return "Suspended", ready.message end
  if status.observedGeneration ~= obj.metadata.generation then
    return "Progressing", "The operator has not seen the latest change."
  end
  if holds("Stalled") then return "Degraded", ready.message end
  if holds("Ready") then return "Healthy", ready.message end
  return "Progressing", ready.message
end

local state, message = health()
return { status = state, message = message or "" }
