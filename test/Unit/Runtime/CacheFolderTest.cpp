// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/CacheFolder.h"

#include "Surroundings.h"
#include "runtime/Core/Sha256.h"

#include "gtest/gtest.h"

#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace tprt;
using namespace tprt::test;

namespace {

/// The vectors of FIPS 180-2, and lengths about the end of a block.
TEST(Sha256, IsTheStandards) {
  auto hash = [](const std::string &bytes) {
    Sha256 sha;
    sha.add(bytes);
    return sha.finish();
  };
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb924"
                      "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223"
                         "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  // In pieces as at once.
  for (size_t length : {55, 56, 63, 64, 65, 119, 120, 128}) {
    std::string bytes(length, 'x');
    Sha256 pieces;
    for (char byte : bytes)
      pieces.add(std::string(1, byte));
    EXPECT_EQ(pieces.finish(), hash(bytes)) << length;
  }
}

TEST(Sha256, TellsPiecesApart) {
  Sha256 first, second;
  first.addPiece("ab");
  first.addPiece("c");
  second.addPiece("a");
  second.addPiece("bc");
  EXPECT_NE(first.finish(), second.finish());
}

class Cache : public testing::Test {
protected:
  std::string read(const CacheFolder &cache, const std::string &name) {
    auto file = cache.openEntry(name);
    if (!file.ok())
      return std::string(file.status().message());
    auto bytes = file->readAll();
    return bytes.ok() ? std::string(bytes->view()) : "cannot be read";
  }

  ErrorCode open() { return getErrorCode(CacheFolder::open().status()); }

  TempFolder temporary;
  Variable variable{"XDG_CACHE_HOME", temporary.get().c_str()};
  std::string folder = temporary.get() + "/tp-opt";
};

TEST_F(Cache, KeepsWhatIsWritten) {
  auto cache = CacheFolder::open();
  ASSERT_TRUE(cache.ok()) << cache.status();
  struct stat info;
  ASSERT_EQ(::stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(getErrorCode(cache->openEntry("a").status()),
            ErrorCode::FileUnreadable);
  EXPECT_TRUE(cache->write("a", "first").ok());
  EXPECT_TRUE(cache->write("a", "second").ok());
  EXPECT_EQ(read(*cache, "a"), "second");
  // Whoever has it open keeps it.
  auto file = cache->openEntry("a");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(cache->write("a", "third!").ok());
  EXPECT_EQ(file->readAll()->view(), "second");
  EXPECT_EQ(read(*cache, "a"), "third!");
}

/// Under HOME, if XDG_CACHE_HOME is no absolute path; else nowhere.
TEST_F(Cache, IsWhereItShouldBe) {
  std::string home = temporary.get() + "/home";
  ASSERT_EQ(::mkdir(home.c_str(), 0700), 0);
  Variable atHome("HOME", home.c_str());
  for (const char *path : {"", "relative/path"}) {
    Variable other("XDG_CACHE_HOME", path);
    auto cache = CacheFolder::open();
    ASSERT_TRUE(cache.ok()) << cache.status();
    EXPECT_EQ(cache->getPath(), home + "/.cache/tp-opt");
    Variable homeless("HOME", path);
    EXPECT_EQ(open(), ErrorCode::CacheUnusable);
  }
  Variable missing("XDG_CACHE_HOME", "/proc/no-such-folder");
  EXPECT_EQ(open(), ErrorCode::CacheUnusable);
}

TEST_F(Cache, IsNotSharedWithOthers) {
  // Somebody else's way into it.
  std::string elsewhere = temporary.get() + "/elsewhere";
  ASSERT_EQ(::mkdir(elsewhere.c_str(), 0700), 0);
  ASSERT_EQ(::symlink(elsewhere.c_str(), folder.c_str()), 0);
  EXPECT_EQ(open(), ErrorCode::CacheUnusable);
  ASSERT_EQ(::unlink(folder.c_str()), 0);
  // Written to by others; what others may only read is closed to them.
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_EQ(open(), ErrorCode::CacheUnusable);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(open(), ErrorCode(0));
  struct stat info;
  ASSERT_EQ(::stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  // Somebody else's, which takes root to make.
  if (::geteuid() != 0)
    return;
  ASSERT_EQ(::chown(folder.c_str(), 65534, 65534), 0);
  EXPECT_EQ(open(), ErrorCode::CacheUnusable);
}

TEST_F(Cache, DoesNotTrustEntriesOfOthers) {
  auto cache = CacheFolder::open();
  ASSERT_TRUE(cache.ok()) << cache.status();
  ASSERT_TRUE(cache->write("a", "good").ok());
  std::string entry = folder + "/a", link = folder + "/link";
  ASSERT_EQ(::symlink(entry.c_str(), link.c_str()), 0);
  EXPECT_EQ(getErrorCode(cache->openEntry("link").status()),
            ErrorCode::FileUnreadable);
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(getErrorCode(cache->openEntry("pipe").status()),
            ErrorCode::FileUnreadable);
  ASSERT_EQ(::chmod(entry.c_str(), 0620), 0);
  EXPECT_EQ(getErrorCode(cache->openEntry("a").status()),
            ErrorCode::CacheUnusable);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chmod(entry.c_str(), 0600), 0);
    ASSERT_EQ(::chown(entry.c_str(), 65534, 65534), 0);
    EXPECT_EQ(getErrorCode(cache->openEntry("a").status()),
              ErrorCode::CacheUnusable);
  }
  // It is replaced, and the link by a file.
  EXPECT_TRUE(cache->write("a", "better").ok());
  EXPECT_EQ(read(*cache, "a"), "better");
  EXPECT_TRUE(cache->write("link", "mine").ok());
  EXPECT_EQ(read(*cache, "link"), "mine");
  EXPECT_EQ(read(*cache, "a"), "better");
}

/// What was not used for longest goes; other things stay.
TEST_F(Cache, IsPruned) {
  auto cache = CacheFolder::open();
  ASSERT_TRUE(cache.ok()) << cache.status();
  auto age = [&](const std::string &name, int seconds) {
    timespec times[2] = {};
    times[0].tv_sec = times[1].tv_sec = ::time(nullptr) - seconds;
    EXPECT_EQ(::utimensat(AT_FDCWD, (folder + "/" + name).c_str(), times, 0),
              0);
  };
  for (const char *name : {"1.tpx", "2.tpx", "3.tpx", "4.tpx"})
    ASSERT_TRUE(cache->write(name, std::string(100, 'x')).ok());
  ASSERT_TRUE(cache->write("choices.txt", std::string(500, 'x')).ok());
  std::ofstream(folder + "/old.tmp") << "left by a crash";
  std::ofstream(folder + "/new.tmp") << "being written";
  for (int i = 1; i <= 4; ++i)
    age(std::to_string(i) + ".tpx", 100 - i);
  age("choices.txt", 1000);
  age("old.tmp", 100000);
  EXPECT_EQ(read(*cache, "1.tpx").size(), 100u); // is used
  cache->prune(".tpx", 250);
  auto isThere = [&](const char *name) {
    return ::access((folder + "/" + name).c_str(), F_OK) == 0;
  };
  EXPECT_TRUE(isThere("1.tpx"));
  EXPECT_FALSE(isThere("2.tpx"));
  EXPECT_FALSE(isThere("3.tpx"));
  EXPECT_TRUE(isThere("4.tpx"));
  EXPECT_TRUE(isThere("choices.txt"));
  EXPECT_TRUE(isThere("new.tmp"));
  EXPECT_FALSE(isThere("old.tmp"));
}

/// A file that becomes shorter while it is used is an error, not a signal.
TEST(File, SaysThatItWasCut) {
  TempFolder temporary;
  std::string path = temporary.get() + "/file";
  std::ofstream(path) << std::string(100000, 'x');
  auto file = File::open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(::truncate(path.c_str(), 10), 0);
  EXPECT_EQ(getErrorCode(file->readAll().status()), ErrorCode::FileUnreadable);
  char byte = 0;
  EXPECT_TRUE(file->read(9, 1, &byte).ok());
  EXPECT_EQ(byte, 'x');
}

TEST(File, IsARegularOne) {
  TempFolder temporary;
  std::string path = temporary.get() + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  for (const std::string &name :
       {path, temporary.get(), std::string("/dev/null")})
    EXPECT_EQ(getErrorCode(File::open(name).status()),
              ErrorCode::FileUnreadable)
        << name;
}

} // namespace
