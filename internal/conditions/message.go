package conditions

// maxMessage bounds a message: a definition with hundreds of faults must not make its own status too large to be stored.
const maxMessage = 32 * 1024

const messageCutOff = "\n… and more: this text was cut off"

// Short returns a text as the message of a condition, cut off when it is very long.
func Short(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage
	for cut > 0 && text[cut]&0xC0 == 0x80 { // not in the middle of a character
		cut--
	}
	return text[:cut] + messageCutOff
}
