package library

import (
	"crypto/sha256"
	"encoding/binary"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

const (
	alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
	// maxSeededString keeps one call from filling the memory; no field of an object can be that long.
	maxSeededString = 1 << 20
)

func randomFunctions() []celgo.EnvOption {
	return []celgo.EnvOption{
		celgo.Function("random.seededString", celgo.Overload("random.seededString_int_string",
			[]*celgo.Type{celgo.IntType, celgo.StringType}, celgo.StringType,
			celgo.BinaryBinding(seededString))),
		celgo.Function("random.seededInt", celgo.Overload("random.seededInt_int_int_string",
			[]*celgo.Type{celgo.IntType, celgo.IntType, celgo.StringType}, celgo.IntType,
			celgo.FunctionBinding(seededInt))),
	}
}

// seededString takes four bytes of the seed's SHA-256 a character, again from the start after eight, so the text repeats every eight characters.
// That is weaker than it looks, and kept: names of existing objects depend on it.
func seededString(length, seed ref.Val) ref.Val {
	n, ok := length.(types.Int)
	if !ok {
		return types.NewErr("random.seededString length must be an integer")
	}
	s, ok := seed.(types.String)
	if !ok {
		return types.NewErr("random.seededString seed must be a string")
	}
	if n <= 0 {
		return types.NewErr("random.seededString length must be positive")
	}
	if n > maxSeededString {
		return types.NewErr("random.seededString length must be at most %d, got %d", maxSeededString, n)
	}
	hash := sha256.Sum256([]byte(s))
	text := make([]byte, n)
	for i := range text {
		at := i * 4 % len(hash)
		text[i] = alphabet[binary.BigEndian.Uint32(hash[at:at+4])%uint32(len(alphabet))]
	}
	return types.String(text)
}

// seededInt maps the first eight bytes of the seed's SHA-256 into [min, max).
func seededInt(args ...ref.Val) ref.Val {
	low, ok := args[0].(types.Int)
	if !ok {
		return types.NewErr("random.seededInt min must be an integer")
	}
	high, ok := args[1].(types.Int)
	if !ok {
		return types.NewErr("random.seededInt max must be an integer")
	}
	seed, ok := args[2].(types.String)
	if !ok {
		return types.NewErr("random.seededInt seed must be a string")
	}
	if low >= high {
		return types.NewErr("random.seededInt min must be less than max")
	}
	hash := sha256.Sum256([]byte(seed))
	// The width is taken as unsigned: it may exceed the largest signed integer.
	offset := binary.BigEndian.Uint64(hash[:8]) % (uint64(high) - uint64(low))
	return types.Int(uint64(low) + offset)
}
