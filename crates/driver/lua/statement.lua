-- Tests with one statement per event for which sysbench has no script. Options:
--
--   --statement  SQL with {t} for the table, ? for a parameter, {list} for as many parameters as --range
--   --params     the parameters, separated by commas: key, range-end (key + range - 1), list (uniform keys, drawn with
--                replacement), hot-list (fixed keys in the middle of the table), c (a random string)
--   --range      length of the list, or of the range
--   --keys       distribution of key: uniform, or zipf with exponent 0.8
--   --text       sent as text, without parameters
--   --own-table  thread i always uses table i mod tables + 1; otherwise tables are drawn

sysbench.cmdline.options = {
   tables = {"Number of tables", 1},
   table_size = {"Number of rows per table", 10000},
   statement = {"SQL of the statement", ""},
   params = {"Parameters of the statement", ""},
   range = {"Length of lists and ranges", 1},
   keys = {"Distribution of keys", "uniform"},
   text = {"Send the statement as text", false},
   own_table = {"Each thread has its table", false}
}

local C_TEMPLATE = string.rep("###########", 10, "-")
local C_LENGTH = 120

function init()
   assert(sysbench.opt.statement ~= "", "--statement is missing")
end

-- Rejection-inversion (Hoermann and Derflinger 1996): the probability of key i is proportional to i^-0.8, and hot keys
-- are neighbours.
local function zipf(rows)
   local exponent = 0.8
   local power = 1 - exponent
   local function integral(x) return (x ^ power - 1) / power end
   local function inverse(y) return (1 + power * y) ^ (1 / power) end
   local function density(x) return x ^ -exponent end
   local low, high = integral(1.5) - 1, integral(rows + 0.5)
   local shortcut = 2 - inverse(integral(2.5) - density(2))
   local unit = sysbench.rand.uniform_double
   return function()
      while true do
         local u = high + unit() * (low - high)
         local x = inverse(u)
         local key = math.max(1, math.min(rows, math.floor(x + 0.5)))
         if key - x <= shortcut or u >= integral(key + 0.5) - density(key) then
            return key
         end
      end
   end
end

local rows, range, tables
local draw
local statements = {}

local fill = {
   key = function(bind, key) bind:set(key) end,
   ["range-end"] = function(bind, key) bind:set(key + range - 1) end,
   list = function(bind) bind:set(sysbench.rand.uniform(1, rows)) end,
   ["hot-list"] = function(bind, _, place) bind:set((math.floor(rows / 2) + place - 1) % rows + 1) end,
   c = function(bind) bind:set_rand_str(C_TEMPLATE) end
}

-- One entry per parameter, lists expanded: the function that fills it, its type, its position in the list.
local function parameters()
   local all = {}
   for kind in sysbench.opt.params:gmatch("[^,]+") do
      local count = kind:find("list") and range or 1
      for place = 1, count do
         local set = assert(fill[kind], "--params: what is " .. kind .. "?")
         all[#all + 1] = {set = set, text = kind == "c", place = place}
      end
   end
   return all
end

local function sql_of(table_number)
   local list = string.rep("?", range, ",")
   return (sysbench.opt.statement:gsub("{t}", "sbtest" .. table_number):gsub("{list}", list))
end

local function prepare(table_number)
   local ready = {params = parameters(), binds = {}}
   ready.statement = con:prepare(sql_of(table_number))
   local types = sysbench.sql.type
   for i, param in ipairs(ready.params) do
      if param.text then
         ready.binds[i] = ready.statement:bind_create(types.CHAR, C_LENGTH)
      else
         ready.binds[i] = ready.statement:bind_create(types.INT)
      end
   end
   if #ready.binds > 0 then
      ready.statement:bind_param(unpack(ready.binds))
   end
   return ready
end

function thread_init()
   rows, range, tables = sysbench.opt.table_size, sysbench.opt.range, sysbench.opt.tables
   if sysbench.opt.keys == "zipf" then
      draw = zipf(rows)
   else
      draw = function() return sysbench.rand.uniform(1, rows) end
   end
   con = sysbench.sql.driver():connect()
   for i = 1, tables do
      statements[i] = sysbench.opt.text and sql_of(i) or prepare(i)
   end
end

function event()
   local number = sysbench.opt.own_table and sysbench.tid % tables + 1 or sysbench.rand.uniform(1, tables)
   local ready = statements[number]
   if sysbench.opt.text then
      con:query(ready)
      return
   end
   local key = draw()
   local params, binds = ready.params, ready.binds
   for i = 1, #params do
      params[i].set(binds[i], key, params[i].place)
   end
   ready.statement:execute()
end

function thread_done()
   con:disconnect()
end
