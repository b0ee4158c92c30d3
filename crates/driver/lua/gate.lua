-- Holds sysbench's threads still at both ends of a run, so that the window has exact ends: a test's script is loaded,
-- its functions are wrapped. Each thread, once it is connected and has prepared its statements, says so on standard
-- output and waits for a byte on standard input; the same again when it has done its last event, before its session
-- ends. rqps reads and writes the other ends (crates/driver/src/sysbench/).
--
-- From the environment: RQPS_SCRIPT, the test's script (a path, or the name of one of sysbench's own);
-- RQPS_CONNECT_SQL, what a session runs before anything else, if anything; RQPS_SESSION_SQL, a query for its id;
-- RQPS_FLUSH_SQL, what a session runs before the window to hand in its statistics, if anything, and
-- RQPS_FLUSH_IDLE_US, how long it stands still before that; RQPS_SECONDS, the length of a run that is not of whole
-- seconds.

local ffi = require("ffi")

local script = assert(os.getenv("RQPS_SCRIPT"), "RQPS_SCRIPT names the test's script")
local connect_sql = os.getenv("RQPS_CONNECT_SQL")
local session_sql = os.getenv("RQPS_SESSION_SQL")
local flush_sql = os.getenv("RQPS_FLUSH_SQL")
local flush_idle_us = tonumber(os.getenv("RQPS_FLUSH_IDLE_US") or 0)
local seconds = tonumber(os.getenv("RQPS_SECONDS"))

if script:find("/") then
   dofile(script)
else
   require(script)
end

ffi.cdef[[
typedef struct { long s; long ns; } rqps_time;
int rqps_clock(int clock, rqps_time *now) __asm__("clock_gettime");
int rqps_sleep_us(unsigned int us) __asm__("usleep");
]]
local CLOCK_MONOTONIC = 1
local time = ffi.new("rqps_time")

local function now()
   ffi.C.rqps_clock(CLOCK_MONOTONIC, time)
   return tonumber(time.s) + tonumber(time.ns) / 1e9
end

-- In one write, so that lines of several threads don't mix.
local function tell(...)
   io.stdout:write("rqps " .. table.concat({...}, " ") .. "\n")
   io.stdout:flush()
end

local function stand(...)
   tell(...)
   if io.stdin:read(1) == nil then
      error("the program that led this run is gone", 0)
   end
end

-- What went wrong, on one line.
local function words(problem)
   local text = type(problem) == "table" and problem.sql_errmsg or problem
   return (tostring(text):gsub("%s+", " "))
end

-- Passes an error on, after the other threads' leader knows of it.
local function heed(ok, problem)
   if not ok then
      tell("failed", sysbench.tid, words(problem))
      error(problem, 0)
   end
end

-- Scripts connect before they prepare, so what sets the session up has to come with the connection.
local driver_of_sysbench = sysbench.sql.driver
function sysbench.sql.driver()
   local driver = driver_of_sysbench()
   return {
      name = function() return driver:name() end,
      connect = function()
         local connection = driver:connect()
         if connect_sql then
            connection:query(connect_sql)
         end
         return connection
      end
   }
end

local connect_and_prepare, run, one_event = thread_init, thread_run, event
local events, deadline = 0, math.huge
local restarts = {}

function event(thread)
   if deadline < math.huge and now() >= deadline then
      return true
   end
   local stop = one_event(thread)
   events = events + 1
   return stop
end

local before_restart = sysbench.hooks.before_restart_event
function sysbench.hooks.before_restart_event(problem)
   local state = problem.sql_state
   restarts[state] = (restarts[state] or 0) + 1
   if before_restart then
      before_restart(problem)
   end
end

function thread_init(thread)
   heed(pcall(function()
      connect_and_prepare(thread)
      local session = con:query_row(session_sql)
      if flush_sql then
         ffi.C.rqps_sleep_us(flush_idle_us)
         con:query(flush_sql)
      end
      stand("waits", sysbench.tid, session)
   end))
end

function thread_run(thread)
   local start = now()
   if seconds then
      deadline = start + seconds
   end
   heed(pcall(run, thread))
   local took = now() - start
   for state, count in pairs(restarts) do
      tell("restarted", sysbench.tid, state, count)
   end
   stand("done", sysbench.tid, events, string.format("%.9f", took))
end

-- Statements are left to the end of the session: closing them would be one more thing that the server counts.
function thread_done()
   con:disconnect()
end
