#include "ingest/event_decoders.h"

#include "ingest/avro_row_decoder.h"
#include "ingest/canal_decoder.h"
#include "ingest/debezium_decoder.h"
#include "ingest/flat_decoder.h"
#include "ingest/maxwell_decoder.h"
#include "ingest/test_decoding_decoder.h"
#include "ingest/wal2json_decoder.h"

namespace headrace::ingest {

std::unique_ptr<LineDecoder> MakeEventDecoder(EventFormat format, TableShape table, EventOptions options) {
  switch (format) {
    case EventFormat::kCanalJson: return std::make_unique<CanalDecoder>(std::move(table), std::move(options));
    case EventFormat::kMaxwellJson:
      return std::make_unique<MaxwellDecoder>(std::move(table), std::move(options));
    case EventFormat::kWal2Json:
      return std::make_unique<Wal2JsonDecoder>(std::move(table), std::move(options));
    case EventFormat::kTestDecoding:
      return std::make_unique<TestDecodingDecoder>(std::move(table), std::move(options));
    case EventFormat::kDebeziumFlat:
      return std::make_unique<FlatDecoder>(std::move(table), std::move(options));
    case EventFormat::kAvro: return std::make_unique<AvroRowDecoder>(std::move(table), std::move(options));
    case EventFormat::kAuto:
    case EventFormat::kDebeziumJson:
    case EventFormat::kDebeziumAvro:
    case EventFormat::kJson:
    case EventFormat::kCsv:
    case EventFormat::kParquet:
    case EventFormat::kArrow: break;
  }
  return std::make_unique<DebeziumDecoder>(std::move(table), std::move(options));
}

}  // namespace headrace::ingest
