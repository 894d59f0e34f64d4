package harness

import (
	"math/rand/v2"
	"net"
	"time"
)

const (
	// passedAtOnce is how many bytes the proxy takes at a time.
	passedAtOnce = 32 << 10
	// slowBytes are passed on, by a Slow proxy, every slowPause.
	slowBytes = 1 << 10
	slowPause = 20 * time.Millisecond
	// tornBytes is about what a Torn proxy passes on before it cuts.
	tornBytes = 16 << 10
)

// pass copies one direction, and ends both when that ends.
func (p *Proxy) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	left := rand.IntN(tornBytes) // before a Torn proxy cuts
	for buffer := make([]byte, passedAtOnce); ; {
		read, err := from.Read(buffer)
		if !p.forward(to, buffer[:read], &left) || err != nil {
			return
		}
	}
}

// forward writes in the way of the fault that there is now. It returns false when the
// connection is over.
func (p *Proxy) forward(to net.Conn, bytes []byte, left *int) bool {
	for len(bytes) > 0 {
		fault, changed := p.now()
		var err error
		switch fault {
		case Frozen:
			<-changed
		case Slow:
			_, err = to.Write(bytes[:min(len(bytes), slowBytes)])
			bytes = bytes[min(len(bytes), slowBytes):]
			time.Sleep(slowPause)
		case Torn:
			if len(bytes) > *left {
				_, _ = to.Write(bytes[:*left])
				return false
			}
			*left -= len(bytes)
			_, err = to.Write(bytes)
			bytes = nil
		default:
			some := bytes[:p.allow(len(bytes))]
			_, err = to.Write(some)
			bytes = bytes[len(some):]
		}
		if err != nil {
			return false
		}
	}
	return true
}

func (p *Proxy) now() (Fault, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault, p.changed
}
