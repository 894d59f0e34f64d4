package harness

import (
	"math/rand/v2"
	"net"
	"time"
)

const (
	// passedAtOnce is the size of the proxy's read buffer, in bytes.
	passedAtOnce = 32 << 10
	// slowPause is the interval in which a Slow proxy forwards a few bytes, and defaultSlowRate
	// the number of bytes per second.
	slowPause       = 20 * time.Millisecond
	defaultSlowRate = 50 << 10
	// tornBytes bounds the number of bytes that a Torn proxy forwards in one direction.
	tornBytes = 16 << 10
)

// direction is one of a connection's.
type direction int

const (
	request direction = iota
	response
)

// pass forwards one direction, and closes both connections when that ends.
func (p *Proxy) pass(target, from net.Conn, of direction) {
	defer target.Close()
	defer from.Close()
	left := rand.IntN(tornBytes) // bytes before a Torn proxy closes the connection
	for buffer := make([]byte, passedAtOnce); ; {
		read, err := from.Read(buffer)
		if !p.forward(target, buffer[:read], of, &left) || err != nil {
			return
		}
	}
}

// forward writes bytes as the current fault requires. It returns false when the connection has to
// be closed.
func (p *Proxy) forward(target net.Conn, bytes []byte, of direction, left *int) bool {
	for len(bytes) > 0 {
		fault, slowBytes, changed := p.now()
		if fault == Frozen || fault == Muted && of == response {
			<-changed
			continue
		}
		var err error
		switch fault {
		case Slow:
			_, err = target.Write(bytes[:min(len(bytes), slowBytes)])
			bytes = bytes[min(len(bytes), slowBytes):]
			time.Sleep(slowPause)
		case Torn:
			if len(bytes) > *left {
				_, _ = target.Write(bytes[:*left])
				return false
			}
			*left -= len(bytes)
			_, err = target.Write(bytes)
			bytes = nil
		default:
			some := bytes[:p.allow(len(bytes))]
			_, err = target.Write(some)
			bytes = bytes[len(some):]
		}
		if err != nil {
			return false
		}
	}
	return true
}

// now returns the current fault, the number of bytes to forward in an interval while Slow, and a
// channel that is closed when the fault changes.
func (p *Proxy) now() (fault Fault, slowBytes int, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault, max(1, p.slowRate/int(time.Second/slowPause)), p.changed
}
