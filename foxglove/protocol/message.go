package protocol

import "github.com/seed-301d4374/engram"

// Levels of a status.
const (
	LevelInfo = iota
	LevelWarning
	LevelError
)

// ServerInfo ("serverInfo") greets a client.
type ServerInfo struct {
	Op                 string            `json:"op"`
	Name               string            `json:"name"`
	Capabilities       []string          `json:"capabilities"`
	SupportedEncodings []string          `json:"supportedEncodings"`
	Metadata           map[string]string `json:"metadata"`
	SessionID          string            `json:"sessionId"`
	DataStartTime      *Time             `json:"dataStartTime,omitempty"`
	DataEndTime        *Time             `json:"dataEndTime,omitempty"`
}

// Time is a time in a text message.
type Time struct {
	Sec  int64 `json:"sec"`
	Nsec int64 `json:"nsec"`
}

// TimeOf returns a time as text messages have it.
func TimeOf(t engram.Time) *Time {
	return &Time{Sec: int64(t) / 1e9, Nsec: int64(t) % 1e9}
}

// Status ("status") tells a client of a trouble; its ID lets it be taken back.
type Status struct {
	Op      string `json:"op"`
	Level   int    `json:"level"`
	Message string `json:"message"`
	ID      string `json:"id,omitempty"`
}

// RemoveStatus ("removeStatus") takes statuses back.
type RemoveStatus struct {
	Op  string   `json:"op"`
	IDs []string `json:"statusIds"`
}

// Advertise ("advertise") says which channels there are from now on.
type Advertise struct {
	Op       string    `json:"op"`
	Channels []Channel `json:"channels"`
}

// Unadvertise ("unadvertise") says which channels are there no more.
type Unadvertise struct {
	Op         string   `json:"op"`
	ChannelIDs []uint32 `json:"channelIds"`
}

// Channel is a stream of messages on a topic, of a server or of a client. The schema is
// text, or base64 of what is binary (protobuf, flatbuffer). Without a schema's encoding it
// is the one that goes with the messages'.
type Channel struct {
	ID             uint32 `json:"id"`
	Topic          string `json:"topic"`
	Encoding       string `json:"encoding"`
	SchemaName     string `json:"schemaName"`
	Schema         string `json:"schema"`
	SchemaEncoding string `json:"schemaEncoding,omitempty"`
}

// AdvertiseServices ("advertiseServices") says which services there are.
type AdvertiseServices struct {
	Op       string    `json:"op"`
	Services []Service `json:"services"`
}

// Service is what a client can call.
type Service struct {
	ID       uint32        `json:"id"`
	Name     string        `json:"name"`
	Type     string        `json:"type"`
	Request  ServiceSchema `json:"request"`
	Response ServiceSchema `json:"response"`
}

// ServiceSchema is the schema of what a service takes or gives.
type ServiceSchema struct {
	Encoding       string `json:"encoding"`
	SchemaName     string `json:"schemaName"`
	SchemaEncoding string `json:"schemaEncoding"`
	Schema         string `json:"schema"`
}

// ServiceFailure ("serviceCallFailure") is the answer to a call that failed.
type ServiceFailure struct {
	Op        string `json:"op"`
	ServiceID uint32 `json:"serviceId"`
	CallID    uint32 `json:"callId"`
	Message   string `json:"message"`
}

// ParameterValues ("parameterValues") tells parameters: those asked for under the ID, or changed ones.
type ParameterValues struct {
	Op         string      `json:"op"`
	Parameters []Parameter `json:"parameters"`
	ID         string      `json:"id,omitempty"`
}

// Parameter is a parameter of a server; without a value there is none of its name.
type Parameter struct {
	Name  string `json:"name"`
	Value any    `json:"value,omitempty"`
}

// GraphUpdate ("connectionGraphUpdate") says who writes and reads which topics.
type GraphUpdate struct {
	Op                 string       `json:"op"`
	PublishedTopics    []Publishers `json:"publishedTopics"`
	SubscribedTopics   []any        `json:"subscribedTopics"`
	AdvertisedServices []Providers  `json:"advertisedServices"`
	RemovedTopics      []string     `json:"removedTopics"`
	RemovedServices    []string     `json:"removedServices"`
}

// Publishers are those that write a topic.
type Publishers struct {
	Name string   `json:"name"`
	IDs  []string `json:"publisherIds"`
}

// Providers are those that offer a service.
type Providers struct {
	Name string   `json:"name"`
	IDs  []string `json:"providerIds"`
}

// Request is any text message of a client.
type Request struct {
	Op              string         `json:"op"`
	Subscriptions   []Subscription `json:"subscriptions"`
	SubscriptionIDs []uint32       `json:"subscriptionIds"`
	Channels        []Channel      `json:"channels"`
	ChannelIDs      []uint32       `json:"channelIds"`
	ParameterNames  []string       `json:"parameterNames"`
	Parameters      []Parameter    `json:"parameters"`
	ID              string         `json:"id"`
	URI             string         `json:"uri"`
	RequestID       uint32         `json:"requestId"`
}

// Subscription is a client's number for a channel that it subscribes to.
type Subscription struct {
	ID        uint32 `json:"id"`
	ChannelID uint32 `json:"channelId"`
}

// Subscribe ("subscribe") begins subscriptions.
type Subscribe struct {
	Op            string         `json:"op"`
	Subscriptions []Subscription `json:"subscriptions"`
}

// Unsubscribe ("unsubscribe") ends them.
type Unsubscribe struct {
	Op              string   `json:"op"`
	SubscriptionIDs []uint32 `json:"subscriptionIds"`
}

// Parameters asks for parameters ("getParameters"), or for their changes
// ("subscribeParameterUpdates"). No names are all, or none.
type Parameters struct {
	Op             string   `json:"op"`
	ParameterNames []string `json:"parameterNames"`
	ID             string   `json:"id,omitempty"`
}

// Announcement is any text message of a server, as far as subscribers want to know.
type Announcement struct {
	Op           string      `json:"op"`
	Name         string      `json:"name"`
	Capabilities []string    `json:"capabilities"`
	SessionID    string      `json:"sessionId"`
	Level        int         `json:"level"`
	Message      string      `json:"message"`
	Channels     []Channel   `json:"channels"`
	ChannelIDs   []uint32    `json:"channelIds"`
	Parameters   []Parameter `json:"parameters"`
	ID           string      `json:"id"`
}
