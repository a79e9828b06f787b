//! The folder of answers: what it keeps, what it lets go, and what it counts.

use std::time::Duration;

use super::sample::{artifact, key};
use super::*;

fn cache() -> (tempfile::TempDir, CompileCache) {
    let folder = tempfile::tempdir().expect("a temp dir");
    let cache = CompileCache::in_folder(folder.path().join("compiled"));
    (folder, cache)
}

fn bytes(cache: &CompileCache, key: &Key) -> Option<Vec<u8>> {
    cache.get(key).map(|answer| answer.expect("compiled").bytes)
}

/// Keys whose files share a folder.
fn neighbours(count: usize) -> Vec<Key> {
    let all = (0..).map(|number| key(&number.to_string()));
    all.filter(|key| key.folder() == "00").take(count).collect()
}

fn age(cache: &CompileCache, key: &Key, seconds: u64) {
    let path = cache.path(key).expect("a folder");
    let file = File::options().write(true).open(path).expect("it is there");
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("ours");
}

#[test]
fn a_wrong_file_is_a_miss_and_is_replaced() {
    let (_folder, cache) = cache();
    let key = key("a");
    cache.put(&key, &Ok(artifact(vec![1, 2, 3]))).expect("writable");
    let path = cache.path(&key).expect("a folder");
    let mut file = fs::read(&path).expect("it is there");
    *file.last_mut().expect("bytes") ^= 1;
    fs::write(&path, file).expect("writable");
    assert_eq!(bytes(&cache, &key), None);
    cache.put(&key, &Ok(artifact(vec![1, 2, 3]))).expect("writable");
    assert_eq!(bytes(&cache, &key), Some(vec![1, 2, 3]));
}

#[test]
fn the_oldest_go_first_and_use_keeps_an_answer_young() {
    let (_folder, cache) = cache();
    let keys = neighbours(4);
    let third = Ok(artifact(vec![7; (FOLDER_BYTES_MAX / 3) as usize - 1024]));
    for (at, key) in keys[..3].iter().enumerate() {
        cache.put(key, &third).expect("writable");
        age(&cache, key, 1000 - at as u64);
    }
    assert!(bytes(&cache, &keys[0]).is_some(), "used just now");
    cache.put(&keys[3], &third).expect("writable");
    let there: Vec<bool> = keys.iter().map(|key| bytes(&cache, key).is_some()).collect();
    assert_eq!(there, [true, false, true, true]);
    let Held { answers, bytes } = cache.held();
    assert!(answers == 3 && bytes <= FOLDER_BYTES_MAX, "{answers} answers of {bytes} bytes");
}

#[test]
fn what_a_killed_process_left_is_no_answer_and_goes_in_time() {
    let (_folder, cache) = cache();
    let keys = neighbours(2);
    let whole = Ok(artifact(vec![7; FOLDER_BYTES_MAX as usize / 2]));
    cache.put(&keys[0], &whole).expect("writable");
    let half = cache.path(&keys[0]).expect("a folder").with_file_name(".tmpkilled");
    fs::write(&half, vec![7; FOLDER_BYTES_MAX as usize / 3]).expect("writable");
    let old = SystemTime::now() - Duration::from_secs(1000);
    File::options().write(true).open(&half).and_then(|file| file.set_modified(old)).expect("ours");
    assert_eq!(cache.held().answers, 1);
    cache.put(&keys[1], &Ok(artifact(vec![7; FOLDER_BYTES_MAX as usize / 3]))).expect("writable");
    assert!(!half.exists() && bytes(&cache, &keys[0]).is_some() && bytes(&cache, &keys[1]).is_some());
}

#[test]
fn what_is_larger_than_a_folder_is_not_kept() {
    let (_folder, cache) = cache();
    cache.put(&key("a"), &Ok(artifact(vec![7; FOLDER_BYTES_MAX as usize]))).expect("no error");
    assert_eq!(cache.held(), Held::default());
}

#[test]
fn clearing_leaves_what_is_not_the_caches() {
    let (folder, cache) = cache();
    cache.put(&key("a"), &Ok(artifact(vec![1]))).expect("writable");
    let other = folder.path().join("compiled/notes.txt");
    fs::write(&other, "mine").expect("writable");
    assert_eq!(cache.held().answers, 1);
    cache.clear().expect("ours");
    assert!(cache.held() == Held::default() && other.exists());
}
