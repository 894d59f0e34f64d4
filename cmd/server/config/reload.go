package config

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/cmd/server/logging"
)

// readInterval is how often the configuration file is read.
const readInterval = 5 * time.Second

// Reloader follows the configuration file. Changed limits and log settings have effect at once; for
// other changed settings it logs that a restart is needed. If the file cannot be used, the settings
// before remain.
//
// The file is read every readInterval, as the files of certificates are, and at SIGHUP.
type Reloader struct {
	// Set once.
	args    []string
	env     lookup
	level   *slog.LevelVar
	started Values // at the start of the process
	metrics reloadMetrics

	Apply func(Settings) // set before follow runs, like show
	Show  func(Values)   // shows the settings that are in effect

	// Owned by follow, once it runs.
	read     Values // of the last file that could be used
	failures logging.Failures
}

// Values are the values of all flags, as text.
type Values map[string]string

// ValuesOf returns the values of flags, by the names of the flags.
func ValuesOf(flags *pflag.FlagSet) Values {
	all := Values{}
	flags.VisitAll(func(flag *pflag.Flag) { all[flag.Name] = flag.Value.String() })
	return all
}

// NewReloader returns the reloader for settings that were read with these arguments; nil if there is no
// configuration file.
func NewReloader(args []string, env lookup, read *Parsed, level *slog.LevelVar) *Reloader {
	if read.Settings.Config == "" {
		return nil
	}
	if len(read.Shadowed) > 0 {
		slog.Warn("fields of the configuration file have no effect, because flags or environment variables "+
			"take precedence", "fields", read.Shadowed)
	}
	now := ValuesOf(read.Flags)
	return &Reloader{
		args: args, env: env, level: level, started: now, read: now,
		metrics: newReloadMetrics(), Apply: func(Settings) {}, Show: func(Values) {},
	}
}

// Follow reloads the file when it has changed, until the context is done.
func (r *Reloader) Follow(ctx context.Context) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	r.followUntil(ctx, signals)
}

func (r *Reloader) followUntil(ctx context.Context, signals <-chan os.Signal) {
	ticker := time.NewTicker(readInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := r.reload(); r.failures.ShouldLog(err) {
				logReloadFailure(err)
			}
		case <-signals:
			if err := r.reload(); err != nil {
				logReloadFailure(err)
			} else {
				slog.Info("SIGHUP: the configuration file has been read")
			}
		case <-ctx.Done():
			return
		}
	}
}

func logReloadFailure(err error) {
	slog.Error("cannot use the new configuration file: the old settings remain in effect", "error", err)
}

// reload reads the file, and applies what has changed.
func (r *Reloader) reload() error {
	next, err := Parse(r.args, r.env, nil)
	r.metrics.record(err)
	if err != nil {
		return err
	}
	next.liftLimits(next.Flags, r.started["auth"]) // another --auth needs a restart
	changed := r.changed(next.Flags)
	r.read = ValuesOf(next.Flags)
	if len(changed) == 0 {
		return nil
	}
	r.level.Set(next.LogLevel)
	r.Apply(next.Settings)
	r.Show(r.effective(next.Flags))
	logReload(changed)
	r.logRestart(changed)
	return nil
}

// effective returns the values that are in effect: those of the start, and the reloaded ones.
func (r *Reloader) effective(flags *pflag.FlagSet) Values {
	now := maps.Clone(r.started)
	flags.VisitAll(func(flag *pflag.Flag) {
		if isReloadable(flag) {
			now[flag.Name] = flag.Value.String()
		}
	})
	return now
}

// changed returns the flags whose values differ from those of the last file.
func (r *Reloader) changed(flags *pflag.FlagSet) (changed []*pflag.Flag) {
	flags.VisitAll(func(flag *pflag.Flag) {
		if r.read[flag.Name] != flag.Value.String() {
			changed = append(changed, flag)
		}
	})
	return changed
}

// logReload logs the settings that have new values.
func logReload(changed []*pflag.Flag) {
	var attributes []any
	for _, flag := range changed {
		if isReloadable(flag) {
			attributes = append(attributes, fieldName(flag.Name), flag.Value.String())
		}
	}
	if len(attributes) > 0 {
		slog.Info("configuration reloaded", attributes...)
	}
}

// logRestart logs the changed settings that have no effect yet.
func (r *Reloader) logRestart(changed []*pflag.Flag) {
	var fields []string
	for _, flag := range changed {
		if !isReloadable(flag) && r.started[flag.Name] != flag.Value.String() {
			fields = append(fields, fieldName(flag.Name))
		}
	}
	if len(fields) > 0 {
		slices.Sort(fields)
		slog.Warn("changed settings have no effect before a restart", "fields", fields)
	}
}

// Collectors returns the metrics that show whether the file can be used.
func (r *Reloader) Collectors() []prometheus.Collector {
	return []prometheus.Collector{r.metrics.successful, r.metrics.succeeded}
}

// reloadMetrics show whether the configuration file can be used.
type reloadMetrics struct{ successful, succeeded prometheus.Gauge }

func newReloadMetrics() reloadMetrics {
	m := reloadMetrics{
		successful: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kubeconnect_config_last_reload_successful",
			Help: "1 if the configuration file could be used when it was last read, and 0 if older settings remain in effect.",
		}),
		succeeded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kubeconnect_config_last_reload_success_timestamp_seconds",
			Help: "When the configuration file was last read and could be used, in Unix time.",
		}),
	}
	m.record(nil)
	return m
}

func (m reloadMetrics) record(err error) {
	if err != nil {
		m.successful.Set(0)
		return
	}
	m.successful.Set(1)
	m.succeeded.SetToCurrentTime()
}
