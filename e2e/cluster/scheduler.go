package main

func schedulerFlags(dir layout, p ports) flags {
	return controllerFlags(dir, schedulerName, p.Scheduler)
}
