// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-fuzz-readers: damaged files for everything that reads files.
//
//   tp-fuzz-readers --seed=1 --count=600         100 files for each reader
//   tp-fuzz-readers --reader=plan --time=60      one reader for a minute
//   tp-fuzz-readers --reader=plan FILE           a file
//   tp-fuzz-readers --reader=stablehlo --examples=FOLDER --count=1000
//                                                damages the folder's files,
//                                                too
//
// A file that crashes or hangs its reader is written to DIR/<reader>-<seed>, as
// small as it gets. Exit 1 if there is one.

#include "Driver.h"
#include "Readers.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>
#include <set>

using namespace tp;
using namespace tp::fuzz;
using llvm::StringRef;
namespace cl = llvm::cl;

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("[FILE]"));
static cl::opt<std::string> only("reader", cl::desc("This reader only"));
static cl::opt<std::string>
    moreExamples("examples", cl::desc("Folder of more files to damage, for "
                                      "the one reader that is named"));
static const Options options(/*deadline=*/20);

namespace {

struct Subject {
  const Reader *reader;
  std::vector<std::string> examples;
};

/// Reads in a folder of the reader's own: files of others would count.
bool read(const Reader &reader, StringRef bytes, const std::string &root) {
  std::string own = root + "/" + reader.name;
  llvm::sys::fs::create_directories(own);
  return reader.read(bytes, own);
}

/// The file of a seed.
std::string makeFile(const Subject &subject, uint64_t fileSeed) {
  Random random(fileSeed * 1000003 + 7);
  const std::string &example =
      random.pick(llvm::ArrayRef<std::string>(subject.examples));
  return random.percent(1) ? example : subject.reader->damage(example, random);
}

/// The files of a folder; false if it has none.
bool addExamples(const std::string &folder,
                 std::vector<std::string> &examples) {
  std::set<std::string> paths; // in an order that every machine has
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end;
       it != end && !error; it.increment(error))
    if (it->type() == llvm::sys::fs::file_type::regular_file)
      paths.insert(it->path());
  for (const std::string &path : paths)
    if (auto buffer = llvm::MemoryBuffer::getFile(path))
      examples.push_back((*buffer)->getBuffer().str());
  return !paths.empty() && !error;
}

/// The smallest file, by leaving parts out, that ends its reader as well.
std::string shrinkFile(const Reader &reader, std::string file,
                       const std::string &scratch) {
  auto fails = [&](const std::string &bytes) {
    return !runTrial(
                [&] {
                  read(reader, bytes, scratch);
                  return std::string();
                },
                options.deadline)
                .death.empty();
  };
  for (size_t part = file.size() / 2; part > 0; part /= 2)
    for (size_t at = 0; at + part <= file.size();) {
      std::string smaller = file;
      smaller.erase(at, part);
      if (fails(smaller))
        file = smaller;
      else
        at += part;
    }
  return file;
}

} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "damaged files\n");
  std::vector<Subject> subjects;
  for (const Reader &reader : getReaders())
    if (only.empty() || only == reader.name)
      subjects.push_back({&reader, {}});
  if (subjects.empty()) {
    llvm::errs() << "no reader is called '" << only << "'\n";
    return 1;
  }
  std::string scratch = makeFolder();
  if (!inputFile.empty()) {
    auto buffer = llvm::MemoryBuffer::getFile(inputFile);
    if (!buffer || only.empty()) {
      llvm::errs() << "a file that can be read, and --reader, are needed\n";
      return 1;
    }
    bool accepted =
        read(*subjects.front().reader, (*buffer)->getBuffer(), scratch);
    llvm::outs() << (accepted ? "accepted\n" : "rejected\n");
    return 0;
  }
  for (Subject &subject : subjects) {
    subject.examples = subject.reader->makeExamples();
    for (const std::string &example : subject.examples)
      if (!read(*subject.reader, example, scratch)) {
        llvm::errs() << subject.reader->name << " rejects its own example\n";
        return 1;
      }
    if (subject.examples.empty()) {
      llvm::errs() << subject.reader->name << " has no example\n";
      return 1;
    }
  }
  // These may be refused.
  if (!moreExamples.empty() &&
      (only.empty() || !addExamples(moreExamples, subjects.front().examples))) {
    llvm::errs() << "a folder of files, and --reader, are needed\n";
    return 1;
  }

  auto getSubject = [&](uint64_t trial) -> const Subject & {
    return subjects[trial % subjects.size()];
  };
  auto makeTrial = [&]() -> Trial {
    return [&, own = makeFolder()](uint64_t trial) {
      const Subject &subject = getSubject(trial);
      bool accepted = read(*subject.reader, makeFile(subject, trial), own);
      return std::string(accepted ? "accepted" : "rejected");
    };
  };
  std::map<std::pair<std::string, std::string>, uint64_t> outcomes;
  auto take = [&](const Outcome &outcome) {
    const Subject &subject = getSubject(outcome.seed);
    bool failed = !outcome.death.empty();
    ++outcomes[{subject.reader->name, failed ? "failed" : outcome.report}];
    if (!failed)
      return false;
    std::string name =
        std::string(subject.reader->name) + "-" + std::to_string(outcome.seed);
    llvm::outs() << name << ": " << outcome.death << '\n';
    llvm::outs().flush();
    // Shrinking takes its time: until then, the whole file is there.
    std::string file = makeFile(subject, outcome.seed);
    options.write(name, file);
    options.write(name, shrinkFile(*subject.reader, file, scratch));
    return true;
  };
  return options.run("files", makeTrial, take, [&] {
    for (auto &[key, times] : outcomes)
      llvm::outs() << "  " << key.first << ", " << key.second << ": " << times
                   << '\n';
  });
}
