package auth

import "net/netip"

// PeerNetwork returns the network that identifies a peer, given the address of a connection,
// IP:PORT: the IP address, and for IPv6 its first 64 bits, because a host with one such address has
// all addresses with these bits. Addresses that cannot be parsed are one network.
func PeerNetwork(address string) netip.Prefix {
	from, _ := netip.ParseAddrPort(address)
	ip := from.Addr().Unmap().WithZone("")
	network, _ := ip.Prefix(min(ip.BitLen(), 64))
	return network
}
