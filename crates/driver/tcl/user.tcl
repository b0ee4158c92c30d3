# In a virtual user, before its first transaction: has each procedure timed, as HammerDB's own time profile has them
# timed; but counts are kept for the window alone, and times as a histogram of limited size.
foreach rqps_kind {neword payment delivery slev ostat} {
    rename $rqps_kind rqps_$rqps_kind
    proc $rqps_kind args [string map [list KIND $rqps_kind] {
        set began [clock microseconds]
        rqps_KIND {*}$args
        rqps_count KIND [expr {[clock microseconds] - $began}]
    }]
}
proc rqps_count {kind us} {
    global rqps_counts
    if {[tsv::get rqps window] == 1} {
        # Three digits.
        set step 1
        while {$us >= 1000 * $step} {set step [expr {$step * 10}]}
        incr rqps_counts($kind,[expr {$us / $step * $step}])
    }
}
proc rqps_write {user} {
    global rqps_counts env
    set file [open [file join $env(TMP) rqps-times-$user] w]
    foreach {key count} [array get rqps_counts] {
        puts $file "[string map {, { }} $key] $count"
    }
    close $file
}
