package sqs

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"
)

// listLimit is the largest number of queues in an answer.
const listLimit = 1000

type pageRequest struct {
	MaxResults *int
	NextToken  string
}

// page returns up to MaxResults of the sorted queue names that follow the token's name. Only a
// request with MaxResults gets a token.
func (in pageRequest) page(names []string) (page []string, nextToken string, err *apiError) {
	limit, err := bounded(in.MaxResults, "MaxResults", 1, listLimit, listLimit)
	if err != nil {
		return nil, "", err
	}
	if in.NextToken != "" {
		after, err := base64.StdEncoding.DecodeString(in.NextToken)
		if err != nil {
			return nil, "", errInvalidParameter("Invalid or expired next token.")
		}
		from, found := slices.BinarySearch(names, string(after))
		if found {
			from++
		}
		names = names[from:]
	}
	if len(names) <= limit {
		return names, "", nil
	}
	names = names[:limit]
	if in.MaxResults != nil {
		nextToken = base64.StdEncoding.EncodeToString([]byte(names[limit-1]))
	}
	return names, nextToken, nil
}

func (s *Server) queueURLs(names []string) []string {
	urls := make([]string, len(names))
	for i, name := range names {
		urls[i] = s.QueueURL(name)
	}
	return urls
}

func (s *Server) listQueues(_ *call, in *struct {
	pageRequest
	QueueNamePrefix string
}) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed()
	}
	var names []string
	for name := range s.queues {
		if strings.HasPrefix(name, in.QueueNamePrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names, token, err := in.page(names)
	if err != nil {
		return nil, err
	}
	return struct {
		QueueURLs []string `json:"QueueUrls,omitempty"`
		NextToken string   `json:",omitempty"`
	}{s.queueURLs(names), token}, nil
}

func (s *Server) listDeadLetterSourceQueues(_ *call, in *struct {
	queueRequest
	pageRequest
}) (any, error) {
	return s.on(in.QueueURL, func(target *queue, _ time.Time) (any, *apiError) {
		names, token, err := in.page(s.sources(target))
		return struct {
			QueueURLs []string `json:"queueUrls"` // lower case, unlike in ListQueues
			NextToken string   `json:",omitempty"`
		}{s.queueURLs(names), token}, err
	})
}

// sources returns the names of the queues whose RedrivePolicy names target, sorted.
func (s *Server) sources(target *queue) (names []string) {
	for name, q := range s.queues {
		if q.settings.redrive != nil && q.settings.redrive.TargetARN == target.arn {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// tagLimit is the largest number of tags on a queue, from the developer guide's quotas.
const tagLimit = 50

func (q *queue) addTags(tags map[string]string) *apiError {
	merged := maps.Clone(q.tags)
	for key, value := range tags {
		if key == "" || len([]rune(key)) > 128 || len([]rune(value)) > 256 {
			return errInvalidParameter("Tag key %q is invalid: keys have 1 to 128 characters, values up to 256.", key)
		}
		merged[key] = value
	}
	if len(merged) > tagLimit {
		return errInvalidParameter("Too many tags added for queue %s: %d, at most %d are allowed.", q.name, len(merged), tagLimit)
	}
	q.tags = merged
	return nil
}

func (s *Server) tagQueue(_ *call, in *struct {
	queueRequest
	Tags map[string]string
}) (any, error) {
	if len(in.Tags) == 0 {
		return nil, errMissing("Tags")
	}
	return s.on(in.QueueURL, func(q *queue, _ time.Time) (any, *apiError) {
		return nothing{}, q.addTags(in.Tags)
	})
}

func (s *Server) untagQueue(_ *call, in *struct {
	queueRequest
	TagKeys []string
}) (any, error) {
	if len(in.TagKeys) == 0 {
		return nil, errMissing("TagKeys")
	}
	return s.on(in.QueueURL, func(q *queue, _ time.Time) (any, *apiError) {
		for _, key := range in.TagKeys {
			delete(q.tags, key)
		}
		return nothing{}, nil
	})
}

func (s *Server) listQueueTags(_ *call, in *queueRequest) (any, error) {
	return s.on(in.QueueURL, func(q *queue, _ time.Time) (any, *apiError) {
		return struct {
			Tags map[string]string `json:",omitempty"`
		}{maps.Clone(q.tags)}, nil
	})
}
