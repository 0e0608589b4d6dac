package fixturestore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/retrial-dev/retrial/replayer/fixture"
)

// layoutVersion is the layout of the file. A file of another layout is refused.
const layoutVersion = "2"

// The buckets. Integers in keys are big-endian, so that byte order is numeric order. Names and releases hold no control
// characters, so that a zero byte ends them.
var (
	bucketMeta      = []byte("meta")      // keyLayout → layoutVersion, keyHead → signed note
	bucketVersions  = []byte("versions")  // set 0x00 number → sealed JSON of versionRecord
	bucketTags      = []byte("tags")      // set 0x00 tag → sealed number
	bucketObjects   = []byte("objects")   // sequence → canonical bytes of a fixture or of a fixture's stubs
	bucketNodes     = []byte("nodes")     // sequence → node of a manifest
	bucketStaging   = []byte("staging")   // first sequence of a block → last, while a commit is being written
	bucketDecisions = []byte("decisions") // sequence → sealed JSON of Replay
	bucketReleases  = []byte("releases")  // release 0x00 set 0x00 sequence → nothing
	bucketIDs       = []byte("ids")       // id of a replay, or release 0x00 set 0x00 → its sequence, that of the newest
	bucketKeys      = []byte("keys")      // who 0x00 idempotency key → sealed JSON of keyRecord
	bucketApprovals = []byte("approvals") // set 0x00 number → sealed JSON of Approval
	bucketWaivers   = []byte("waivers")   // sequence → sealed JSON of Waiver

	bucketLog         = []byte("log")         // index → leaf, JSON of LogEntry
	bucketLogHashes   = []byte("loghashes")   // tlog.StoredHashIndex → hash
	bucketLogSubjects = []byte("logsubjects") // kind 0x00 subject → index of the newest entry

	keyLayout = []byte("layout")
	keyHead   = []byte("head") // the signed checkpoint of the log as it is
)

func buckets() [][]byte {
	return [][]byte{bucketMeta, bucketVersions, bucketTags, bucketObjects, bucketNodes, bucketStaging, bucketDecisions, bucketReleases,
		bucketIDs, bucketKeys, bucketApprovals, bucketWaivers, bucketLog, bucketLogHashes, bucketLogSubjects}
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func versionKey(set string, n uint64) []byte {
	return binary.BigEndian.AppendUint64(setPrefix(set), n)
}

func setPrefix(set string) []byte { return append([]byte(set), 0) }

func tagKey(set, tag string) []byte { return append(setPrefix(set), tag...) }

func releasePrefix(release, set string) []byte {
	return append(append(append([]byte(release), 0), set...), 0)
}

// seal puts a hash in front of a record. It covers bucket and key too, so that a record in another's place is noticed.
func seal(bucket, key, record []byte) []byte {
	sum := recordSum(bucket, key, record)
	return append(sum[:], record...)
}

// unseal checks a sealed record and returns a copy of it that outlives the transaction.
func unseal(bucket, key, value []byte) ([]byte, error) {
	if len(value) < sha256.Size {
		return nil, fmt.Errorf("record is cut: %d bytes", len(value))
	}
	record := bytes.Clone(value[sha256.Size:])
	if sum := recordSum(bucket, key, record); !bytes.Equal(sum[:], value[:sha256.Size]) {
		return nil, fmt.Errorf("record does not match its hash")
	}
	return record, nil
}

func recordSum(bucket, key, record []byte) fixture.Digest {
	b := make([]byte, 0, len(bucket)+len(key)+len(record)+2)
	b = append(append(b, bucket...), 0)
	b = append(append(b, key...), 0)
	return fixture.DigestOf(append(b, record...))
}

// clip cuts a key to what fits a message: the key of a damaged page can be as long as the memory.
func clip(k []byte) []byte { return k[:min(len(k), 80)] }

// lastKey gives the greatest key of a bucket, or nil.
func lastKey(tx *bolt.Tx, bucket []byte) []byte {
	k, _ := tx.Bucket(bucket).Cursor().Last()
	return k
}

func corrupt(subject string, err error) error {
	return fixture.NewError(fixture.CodeCorrupt, "damaged", subject, err)
}
