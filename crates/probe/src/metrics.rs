//! The metrics of a window's cost: their names and definitions.

use crate::host::DiskTotals;
use crate::window::WindowCost;

impl WindowCost {
    /// The cost as totals by name, unit last. Values that this host does not report are left out.
    ///
    /// | name | what |
    /// | --- | --- |
    /// | `cpus` | CPUs online |
    /// | `host_{user,system,iowait,steal,idle}_us` | CPU of the whole machine |
    /// | `host_context_switches`, `host_forks` | of the whole machine |
    /// | `host_major_faults`, `host_swap_in_pages`, `host_swap_out_pages` | paging of the whole machine |
    /// | `disk_{reads,read_kb,writes,write_kb,flushes}` | all whole disks |
    /// | `device.NAME.{reads,…}` | one device with traffic, also partitions and mapped devices |
    /// | `server_{cpu,user,system}_us` | the server's processes, ended ones included |
    /// | `server_{voluntary,involuntary}_switches` | the server's processes |
    /// | `server_{read,write}_bytes`, `server_{read,write}_chars` | to storage; by system calls |
    /// | `server_processes`, `server_{private,shared_max,proportional}_kb` | memory at the end |
    /// | `server_role.ROLE_us` | CPU of the server's processes that do not serve measured clients, by role |
    /// | `client_{cpu,user,system}_us` | this process |
    /// | `server_backends_queued_us`, `client_queued_us` | waiting on run queues: clients' backends, this process |
    /// | `rest_us` | CPU of the machine used by neither server nor client; may be negative |
    /// | `server_{instructions_user,cycles_user,instructions_kernel}`, `server_task_clock_us` | hardware counters |
    /// | `server_perf_multiplexed` | 1 if hardware counters are too small because they were multiplexed |
    pub fn metrics(&self) -> Vec<(String, f64)> {
        let mut metrics = Metrics(Vec::new());
        self.host_metrics(&mut metrics);
        if self.is_of_host {
            return metrics.0;
        }
        self.server_metrics(&mut metrics);
        metrics.add("client_cpu_us", self.client.cpu_us);
        metrics.add("client_user_us", self.client.user_us);
        metrics.add("client_system_us", self.client.system_us);
        metrics.add("client_queued_us", self.client_queued_us);
        let queued: Option<u64> = self.server.backends.iter().map(|backend| backend.queued_us).sum();
        metrics.add_known("server_backends_queued_us", queued.filter(|_| !self.server.backends.is_empty()));
        metrics.0.push(("rest_us".to_string(), self.rest_us as f64));
        metrics.add_known("server_instructions_user", self.perf.instructions_user);
        metrics.add_known("server_cycles_user", self.perf.cycles_user);
        metrics.add_known("server_instructions_kernel", self.perf.instructions_kernel);
        metrics.add_known("server_task_clock_us", self.perf.task_clock_us);
        if self.perf.multiplexed {
            metrics.add("server_perf_multiplexed", 1);
        }
        metrics.0
    }

    fn host_metrics(&self, metrics: &mut Metrics) {
        let host = &self.host;
        for (name, value) in [
            ("cpus", u64::from(host.cpus)),
            ("host_user_us", host.cpu.user_us),
            ("host_system_us", host.cpu.system_us),
            ("host_iowait_us", host.cpu.iowait_us),
            ("host_steal_us", host.cpu.steal_us),
            ("host_idle_us", host.cpu.idle_us),
            ("host_context_switches", host.context_switches),
            ("host_forks", host.forks),
            ("host_major_faults", host.major_faults),
            ("host_swap_in_pages", host.swap_in_pages),
            ("host_swap_out_pages", host.swap_out_pages),
        ] {
            metrics.add(name, value);
        }
        metrics.add_disk("disk_", &host.disks());
        for device in host.devices.iter().filter(|device| device.totals != DiskTotals::default()) {
            metrics.add_disk(&format!("device.{}.", device.name), &device.totals);
        }
    }

    fn server_metrics(&self, metrics: &mut Metrics) {
        let server = &self.server;
        for (name, value) in [
            ("server_cpu_us", server.cpu.cpu_us),
            ("server_user_us", server.cpu.user_us),
            ("server_system_us", server.cpu.system_us),
            ("server_voluntary_switches", server.voluntary_switches),
            ("server_involuntary_switches", server.involuntary_switches),
            ("server_processes", u64::from(server.memory.processes)),
            ("server_private_kb", server.memory.private_kb),
            ("server_shared_max_kb", server.memory.shared_kb_max),
        ] {
            metrics.add(name, value);
        }
        metrics.add_known("server_proportional_kb", server.memory.proportional_kb);
        metrics.add_known("server_read_bytes", server.io.map(|io| io.read_bytes));
        metrics.add_known("server_write_bytes", server.io.map(|io| io.write_bytes));
        metrics.add_known("server_read_chars", server.io.map(|io| io.read_chars));
        metrics.add_known("server_write_chars", server.io.map(|io| io.write_chars));
        for role in &server.background {
            metrics.add(&format!("server_role.{}_us", role.role.replace(' ', "_")), role.cpu_us);
        }
    }
}

struct Metrics(Vec<(String, f64)>);

impl Metrics {
    fn add(&mut self, name: &str, value: u64) {
        self.0.push((name.to_string(), value as f64));
    }

    fn add_known(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    fn add_disk(&mut self, prefix: &str, totals: &DiskTotals) {
        self.add(&format!("{prefix}reads"), totals.reads);
        self.add(&format!("{prefix}writes"), totals.writes);
        self.add(&format!("{prefix}flushes"), totals.flushes);
        self.0.push((format!("{prefix}read_kb"), totals.read_kb));
        self.0.push((format!("{prefix}write_kb"), totals.write_kb));
    }
}
