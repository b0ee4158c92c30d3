# Each line is sent at once, and HammerDB ends with rqps: then its standard input ends.
fconfigure stdout -buffering line
fconfigure stdin -blocking 0
fileevent stdin readable {if {[gets stdin line] < 0 && [eof stdin]} {exec kill -KILL [pid]}}
