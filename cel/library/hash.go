package library

import (
	"crypto/md5"
	"crypto/sha256"
	"hash/fnv"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

func hashFunctions() []celgo.EnvOption {
	return []celgo.EnvOption{
		hashFunction("hash.fnv64a", func(b []byte) []byte {
			h := fnv.New64a()
			_, _ = h.Write(b)
			return h.Sum(nil)
		}),
		hashFunction("hash.sha256", func(b []byte) []byte {
			sum := sha256.Sum256(b)
			return sum[:]
		}),
		// MD5 names things here; it protects nothing.
		hashFunction("hash.md5", func(b []byte) []byte {
			sum := md5.Sum(b)
			return sum[:]
		}),
	}
}

func hashFunction(name string, sum func([]byte) []byte) celgo.EnvOption {
	return celgo.Function(name, celgo.Overload(name+"_string", []*celgo.Type{celgo.StringType}, celgo.BytesType,
		celgo.UnaryBinding(func(v ref.Val) ref.Val {
			s, ok := v.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(v)
			}
			return types.Bytes(sum([]byte(s)))
		})))
}
