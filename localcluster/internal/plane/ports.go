package plane

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
)

// port is one loopback port a component listens on, by purpose.
type port string

const (
	portEtcd      port = "etcd"
	portEtcdPeer  port = "etcd peer"
	portAPI       port = "API server"
	portKroHealth port = "kro health"
	portKroMetric port = "kro metrics"
)

// preferred are the ports of a fresh plane: all five are free on most machines,
// and a user meets the same ones every day.
var preferred = map[port]int{portEtcd: 26379, portEtcdPeer: 26380, portAPI: 26443, portKroHealth: 26079, portKroMetric: 26078}

// ports are those of one plane. A zero entry is one still to be chosen.
type ports map[port]int

func (p ports) address(of port) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p[of])) }

// loadPorts reads the ports of the last run. A missing or unreadable file means
// a first run.
func loadPorts(name string) ports {
	p := ports{}
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return ports{}
	}
	return p
}

func (p ports) save(name string) error {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(name, append(data, '\n'))
}

// settle makes sure that the component about to start can listen: it keeps the
// port of the last run, else the preferred one, else takes any that is free.
func (p ports) settle(of port, fixed bool, report Report) error {
	wanted := p[of]
	if wanted == 0 && fixed {
		wanted = preferred[of]
	}
	if wanted != 0 && free(wanted) {
		p[of] = wanted
		return nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a free port on 127.0.0.1 for %s: %w", of, err)
	}
	defer listener.Close()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("find a free port on 127.0.0.1 for %s: got the address %s", of, listener.Addr())
	}
	if wanted != 0 {
		report("port %d on 127.0.0.1 (%s) is taken by another program; using %d instead", wanted, of, address.Port)
	}
	p[of] = address.Port
	return nil
}

func free(number int) bool {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(number)))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}
