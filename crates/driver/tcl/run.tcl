# Loads HammerDB's script of a timed test, adds what rqps has to know, and runs it.

loadscript

# Puts text in the place of a part of the script, which has to be there once.
proc rqps_replace {part text} {
    global _ED
    set at [string first $part $_ED(package)]
    set after [expr {$at + [string length $part]}]
    if {$at < 0 || [string first $part $_ED(package) $after] >= 0} {
        puts "Error:this HammerDB's script is unknown to rqps, it does not have once: $part"
        exit
    }
    set _ED(package) [string range $_ED(package) 0 [expr {$at - 1}]]$text[string range $_ED(package) $after end]
}

proc rqps_before {part text} {
    rqps_replace $part "$text\n$part"
}

# HammerDB counts whole minutes, but waits in steps of six seconds.
if {$rqps_tenths(rampup) % 10 || $rqps_tenths(duration) % 10} {
    foreach {name waited} {rampup ramptime duration testtime} {
        rqps_replace "set $name $rqps_minutes($name);" "set $name [expr {$rqps_tenths($name) / 10.0}];"
        rqps_replace "while {\$$waited != \$$name}" "while {\$$waited < \$$name}"
    }
}
# Virtual users count their transactions while this is 1.
tsv::set rqps window 0
rqps_before {puts "Timing test period} {tsv::set rqps window 1}
rqps_before {puts "Test complete, Taking end Transaction Count."} {tsv::set rqps window 2}
rqps_before {puts "Processing $total_iterations transactions with output suppressed..."} "$rqps_session\n$rqps_user"
append _ED(package) "\nif {\[info procs rqps_write\] ne {}} {rqps_write \$myposition}\n"

vuset vu $rqps_users
# HammerDB starts one after the other, half a second apart unless told.
vuset repeat 20
vucreate
tcset refreshrate 1
tcstart
vurun
exit
