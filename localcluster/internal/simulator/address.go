package simulator

import (
	"hash/fnv"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
)

// The two ranges addresses are drawn from. Nothing answers on them: the first is
// the usual range of Pods, the second is set aside for benchmarks (RFC 2544).
var (
	podRange          = netip.MustParsePrefix("10.244.0.0/16")
	loadBalancerRange = netip.MustParsePrefix("198.18.0.0/15")
)

func podAddress(uid types.UID) string { return addressIn(podRange, uid) }

func loadBalancerAddress(uid types.UID) string { return addressIn(loadBalancerRange, uid) }

// addressIn draws the address of an object from its UID, so that it is the same
// after a restart without being stored. Two objects may share one; nothing here
// routes to it.
func addressIn(within netip.Prefix, uid types.UID) string {
	h := fnv.New32a()
	h.Write([]byte(uid))
	base := within.Addr().As4()
	hosts := uint32(1)<<(32-within.Bits()) - 2 // neither the first nor the last
	n := uint32(base[0])<<24 | uint32(base[1])<<16 | uint32(base[2])<<8 | uint32(base[3])
	n += 1 + h.Sum32()%hosts
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String()
}
