package dhruva

// Role says who speaks in a turn or a message.
type Role string

// The roles. Only user and assistant turns are ever stored; the others occur
// in provider requests.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system" // system and developer instructions
	RoleTool      Role = "tool"   // tool replies of the Chat dialect, tool items of Responses
	RoleOther     Role = "other"  // anything unknown; always protected
)
