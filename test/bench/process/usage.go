package process

import "time"

// Usage is what a process has cost so far.
type Usage struct {
	CPU      time.Duration // user and system time
	Resident int64         // resident memory now, in bytes
	Peak     int64         // the most resident memory it ever had, in bytes
}
