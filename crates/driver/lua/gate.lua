-- Makes sysbench's threads wait at both ends of a run, so that the window has exact ends: loads a test's script and
-- wraps its functions. Once a thread is connected and has prepared its statements, it prints a line to standard output
-- and waits for a byte on standard input; the same again after its last event, before its session ends. rqps is at the
-- other ends (crates/driver/src/sysbench/).
--
-- Environment: RQPS_SCRIPT, the test's script (a path, or the name of one of sysbench's own);
-- RQPS_CONNECT_SQL (optional), run first in each session; RQPS_SESSION_SQL, a query for the session's id;
-- RQPS_FLUSH_SQL (optional), run by each session before the window to flush its statistics, after an idle time of
-- RQPS_FLUSH_IDLE_US; RQPS_SECONDS, the length of a run if it is not whole seconds.

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

-- One write, so that lines of several threads don't mix.
local function print_line(...)
   io.stdout:write("rqps " .. table.concat({...}, " ") .. "\n")
   io.stdout:flush()
end

local function wait_at_gate(...)
   print_line(...)
   if io.stdin:read(1) == nil then
      error("the program that led this run is gone", 0)
   end
end

-- The error message in one line.
local function message(problem)
   local text = type(problem) == "table" and problem.sql_errmsg or problem
   return (tostring(text):gsub("%s+", " "))
end

-- Prints an error, then raises it again.
local function check(ok, problem)
   if not ok then
      print_line("failed", sysbench.tid, message(problem))
      error(problem, 0)
   end
end

-- Scripts prepare right after they connect, so the session must be set up when it connects.
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
   check(pcall(function()
      connect_and_prepare(thread)
      local session = con:query_row(session_sql)
      if flush_sql then
         ffi.C.rqps_sleep_us(flush_idle_us)
         con:query(flush_sql)
      end
      wait_at_gate("waits", sysbench.tid, session)
   end))
end

function thread_run(thread)
   local start = now()
   if seconds then
      deadline = start + seconds
   end
   check(pcall(run, thread))
   local took = now() - start
   for state, count in pairs(restarts) do
      print_line("restarted", sysbench.tid, state, count)
   end
   wait_at_gate("done", sysbench.tid, events, string.format("%.9f", took))
end

-- Does not close the statements: the server would count that too.
function thread_done()
   con:disconnect()
end
