// RocksDB over the same input: the LSM reference without a table format.
// Key: order_id big-endian.  Value: customer_id, amount, updated_at (8 bytes each,
// little-endian), one length byte + status, note.  WAL off, one flush a commit.
//   rocks ingest    --input DIR --db DIR [--compaction 0|1] [--changelog 0|1]
//   rocks compact   --db DIR
//   rocks scan      --db DIR [--check 1]
//   rocks filter    --db DIR --status S
//   rocks lookup    --db DIR --keys FILE [--limit N]
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;
static std::map<std::string, std::string> args;

static double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

template <class S>
static void must(const S& s) {
  if (!s.ok()) {
    std::fprintf(stderr, "%s\n", s.ToString().c_str());
    std::exit(1);
  }
}

static uint32_t crc32_of(const std::string& s) {
  static const auto table = [] {
    std::vector<uint32_t> t(256);
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t c = i;
      for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  uint32_t c = 0xFFFFFFFFu;
  for (unsigned char b : s) c = table[(c ^ b) & 0xFF] ^ (c >> 8);
  return c ^ 0xFFFFFFFFu;
}

static void put_key(char* out, int64_t k) {
  for (int i = 0; i < 8; i++) out[i] = static_cast<char>(static_cast<uint64_t>(k) >> (56 - 8 * i));
}

static int64_t get_key(const char* p) {
  uint64_t v = 0;
  for (int i = 0; i < 8; i++) v = v << 8 | static_cast<unsigned char>(p[i]);
  return static_cast<int64_t>(v);
}

struct Row {
  int64_t customer, amount, ts;
  std::string_view status, note;
};

static Row decode(const rocksdb::Slice& v) {
  Row r;
  const char* p = v.data();
  std::memcpy(&r.customer, p, 8);
  std::memcpy(&r.amount, p + 8, 8);
  std::memcpy(&r.ts, p + 16, 8);
  size_t n = static_cast<unsigned char>(p[24]);
  r.status = {p + 25, n};
  r.note = {p + 25 + n, v.size() - 25 - n};
  return r;
}

static rocksdb::Options options() {
  rocksdb::Options o;
  o.create_if_missing = true;
  o.compaction_style = rocksdb::kCompactionStyleUniversal;
  o.write_buffer_size = 256 << 20;
  o.level0_file_num_compaction_trigger = 5;
  o.max_background_jobs = 2;
  o.compression = rocksdb::kZSTD;
  o.compression_opts.level = 1;
  rocksdb::BlockBasedTableOptions b;
  b.block_size = 16 << 10;
  b.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  b.block_cache = rocksdb::NewLRUCache(256 << 20);
  o.table_factory.reset(rocksdb::NewBlockBasedTableFactory(b));
  return o;
}

static std::unique_ptr<rocksdb::DB> open_db(const rocksdb::Options& o) {
  rocksdb::DB* db = nullptr;
  must(rocksdb::DB::Open(o, args["db"], &db));
  return std::unique_ptr<rocksdb::DB>(db);
}

static std::string ingest() {
  auto o = options();
  o.disable_auto_compactions = args["compaction"] == "0";
  const bool changelog = args["changelog"] == "1";
  auto db = open_db(o);
  rocksdb::WriteOptions wo;
  wo.disableWAL = true;
  std::vector<std::string> files;
  for (auto& e : std::filesystem::directory_iterator(args["input"]))
    if (e.path().extension() == ".parquet") files.push_back(e.path());
  std::sort(files.begin(), files.end());
  int64_t rows = 0, changes = 0;
  std::string value, old;
  std::ofstream log;
  if (changelog) log.open(args["db"] + "/changelog.bin", std::ios::binary);
  // batched writes, except when each row first has to look up the last one
  rocksdb::WriteBatch batch;
  auto flush_batch = [&](int limit) {
    if (static_cast<int>(batch.Count()) <= limit) return;
    must(db->Write(wo, &batch));
    batch.Clear();
  };
  for (auto& f : files) {
    auto in = arrow::io::ReadableFile::Open(f).ValueOrDie();
    auto reader = parquet::arrow::OpenFile(in, arrow::default_memory_pool()).ValueOrDie();
    auto table = reader->ReadTable().ValueOrDie();
    arrow::TableBatchReader batches(*table);
    std::shared_ptr<arrow::RecordBatch> b;
    while (true) {
      must(batches.ReadNext(&b));
      if (!b) break;
      auto& id = static_cast<const arrow::Int64Array&>(*b->column(0));
      auto& cust = static_cast<const arrow::Int64Array&>(*b->column(1));
      auto& st = static_cast<const arrow::StringArray&>(*b->column(2));
      auto& am = static_cast<const arrow::Decimal128Array&>(*b->column(3));
      auto& note = static_cast<const arrow::StringArray&>(*b->column(4));
      auto& ts = static_cast<const arrow::TimestampArray&>(*b->column(5));
      auto& op = static_cast<const arrow::StringArray&>(*b->column(6));
      for (int64_t i = 0; i < b->num_rows(); i++, rows++) {
        char key[8];
        put_key(key, id.Value(i));
        rocksdb::Slice k(key, 8);
        auto kind = op.GetView(i);
        if (kind == "-U") continue;
        bool found = false;
        if (changelog) {
          found = db->Get(rocksdb::ReadOptions(), k, &old).ok();
          if (found) log.write(old.data(), static_cast<std::streamsize>(old.size())), changes++;
        }
        if (kind == "-D") {
          must(batch.Delete(k));
          flush_batch(changelog ? 0 : 1000);
          continue;
        }
        int64_t fixed[3] = {cust.Value(i), 0, ts.Value(i)};
        std::memcpy(&fixed[1], am.GetValue(i), 8);
        auto s = st.GetView(i), n = note.GetView(i);
        value.assign(reinterpret_cast<char*>(fixed), 24);
        value.push_back(static_cast<char>(s.size()));
        value.append(s).append(n);
        must(batch.Put(k, value));
        flush_batch(changelog ? 0 : 1000);
        if (changelog) log.write(value.data(), static_cast<std::streamsize>(value.size())), changes++;
      }
    }
    flush_batch(0);
    must(db->Flush(rocksdb::FlushOptions()));
  }
  while (!o.disable_auto_compactions) {
    uint64_t pending = 0, running = 0;
    db->GetIntProperty("rocksdb.compaction-pending", &pending);
    db->GetIntProperty("rocksdb.num-running-compactions", &running);
    if (pending + running == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  must(db->Close());
  return "\"rows\": " + std::to_string(rows) + (changelog ? ", \"changes\": " + std::to_string(changes) : "");
}

static std::string compact() {
  auto db = open_db(options());
  rocksdb::CompactRangeOptions c;
  c.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  must(db->CompactRange(c, nullptr, nullptr));
  must(db->Close());
  return "\"ok\": 1";
}

static std::string scan() {
  auto o = options();
  o.disable_auto_compactions = true;
  auto db = open_db(o);
  const bool check = args["check"] == "1";
  rocksdb::ReadOptions ro;
  ro.readahead_size = 2 << 20;
  std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(ro));
  uint64_t rows = 0, id = 0, customer = 0, amount = 0, ts = 0, length = 0, crc = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    int64_t k = get_key(it->key().data());
    Row r = decode(it->value());
    rows++, id += k, customer += r.customer, amount += r.amount, ts += r.ts;
    length += r.status.size() + r.note.size();
    if (check)
      crc +=
          crc32_of(std::to_string(k) + "|" + std::to_string(r.customer) + "|" + std::string(r.status) + "|" +
                   std::to_string(r.amount) + "|" + std::string(r.note) + "|" + std::to_string(r.ts));
  }
  char buf[512];
  std::snprintf(buf, sizeof buf,
                "\"rows\": %lu, \"sums\": {\"rows\": %lu, \"id\": %lu, \"customer\": %lu, \"amount\": %lu, "
                "\"ts\": %lu, \"length\": %lu}, \"crc\": %lu",
                rows, rows, id, customer, amount, ts, length, crc);
  std::string s = buf;
  return check ? s : s.substr(0, s.rfind(", \"crc\""));
}

static std::string filter() {
  auto o = options();
  o.disable_auto_compactions = true;
  auto db = open_db(o);
  std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(rocksdb::ReadOptions()));
  int64_t rows = 0, amount = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    Row r = decode(it->value());
    if (r.status == args["status"]) rows++, amount += r.amount;
  }
  return "\"rows\": " + std::to_string(rows) + ", \"amount\": " + std::to_string(amount);
}

static std::string lookup() {
  auto o = options();
  o.disable_auto_compactions = true;
  auto db = open_db(o);
  std::vector<int64_t> keys;
  std::ifstream in(args["keys"]);
  size_t limit = args.count("limit") ? std::stoul(args["limit"]) : SIZE_MAX;
  for (int64_t k; keys.size() < limit && in >> k;) keys.push_back(k);
  std::vector<double> us(keys.size());
  int64_t found = 0, amount = 0;
  double cold = 0;
  auto t0 = Clock::now();
  for (int pass = 0; pass < 2; pass++) {
    found = amount = 0;
    for (size_t i = 0; i < keys.size(); i++) {
      auto b = Clock::now();
      char key[8];
      put_key(key, keys[i]);
      rocksdb::PinnableSlice v;
      if (db->Get(rocksdb::ReadOptions(), db->DefaultColumnFamily(), {key, 8}, &v).ok())
        found++, amount += decode(v).amount;
      us[i] = since(b) * 1e6;
    }
    if (pass == 0) cold = since(t0);
  }
  std::sort(us.begin(), us.end());
  char buf[256];
  std::snprintf(buf, sizeof buf,
                "\"keys\": %zu, \"found\": %ld, \"amount\": %ld, \"cold_pass_s\": %f, \"p50_us\": %.2f, "
                "\"p99_us\": %.2f",
                keys.size(), found, amount, cold, us[us.size() / 2], us[us.size() * 99 / 100]);
  return buf;
}

int main(int argc, char** argv) {
  for (int i = 2; i + 1 < argc; i += 2) args[argv[i] + 2] = argv[i + 1];
  std::string mode = argc > 1 ? argv[1] : "";
  auto t0 = Clock::now();
  std::string out = mode == "ingest"    ? ingest()
                    : mode == "compact" ? compact()
                    : mode == "scan"    ? scan()
                    : mode == "filter"  ? filter()
                    : mode == "lookup"  ? lookup()
                                        : "";
  if (out.empty()) return 2;
  std::printf("{%s, \"inner_s\": %f}\n", out.c_str(), since(t0));
}
