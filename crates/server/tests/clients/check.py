"""boto3 and its transfer manager against a server: `python check.py URL`. The first failed
assertion ends it. The keys are those of keys.toml. It leaves no bucket."""
import sys, os, hashlib, threading, boto3, io, urllib.request, urllib.error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError
url=sys.argv[1]
def client(a,s,**k): return boto3.client('s3',endpoint_url=url,aws_access_key_id=a,aws_secret_access_key=s,region_name='us-east-1',config=Config(retries={'max_attempts':0},**k))
c=client('admin','adminadminadminadmin')
def code(f,*a,**k):
    try: f(*a,**k); return None
    except ClientError as e: return (e.response['Error']['Code'], e.response['ResponseMetadata']['HTTPStatusCode'])
for b in ('pub','drop'):
    assert code(c.create_bucket,Bucket=b) in (None,('BucketAlreadyOwnedByYou',409))
assert code(c.create_bucket,Bucket='pub')==('BucketAlreadyOwnedByYou',409)
assert {b['Name'] for b in c.list_buckets()['Buckets']}>={'pub','drop'}
assert code(c.head_bucket,Bucket='none')[1]==404
assert c.get_bucket_location(Bucket='pub')['LocationConstraint'] is None
# put/get with everything
body=os.urandom(100)
r=c.put_object(Bucket='pub',Key='a/ü +&?.txt',Body=body,ContentType='text/x',CacheControl='max-age=1',Metadata={'Who':'me'},Tagging='k=v&x=y%20z',ContentDisposition='inline')
assert r['ETag']=='"%s"'%hashlib.md5(body).hexdigest()
g=c.get_object(Bucket='pub',Key='a/ü +&?.txt'); assert g['Body'].read()==body and g['ContentType']=='text/x' and g['Metadata']=={'who':'me'} and g['CacheControl']=='max-age=1' and g['ContentDisposition']=='inline' and g['TagCount']==2, g
h=c.head_object(Bucket='pub',Key='a/ü +&?.txt'); assert h['ContentLength']==100
assert {t['Key']:t['Value'] for t in c.get_object_tagging(Bucket='pub',Key='a/ü +&?.txt')['TagSet']}=={'k':'v','x':'y z'}
c.put_object_tagging(Bucket='pub',Key='a/ü +&?.txt',Tagging={'TagSet':[{'Key':'q','Value':'1'}]})
assert len(c.get_object_tagging(Bucket='pub',Key='a/ü +&?.txt')['TagSet'])==1
c.delete_object_tagging(Bucket='pub',Key='a/ü +&?.txt')
assert c.get_object_tagging(Bucket='pub',Key='a/ü +&?.txt')['TagSet']==[]
described=c.get_object_attributes(Bucket='pub',Key='a/ü +&?.txt',ObjectAttributes=['ETag','ObjectSize','StorageClass'])
assert described['ObjectSize']==c.head_object(Bucket='pub',Key='a/ü +&?.txt')['ContentLength'],described
# empty
c.put_object(Bucket='pub',Key='empty',Body=b''); assert c.get_object(Bucket='pub',Key='empty')['Body'].read()==b''
# sizes around limits, ranges, checksums
for n in (1,65535,65536,65537,524287,524288,524289,3_000_000):
    d=os.urandom(n); k='s/%d'%n
    for alg in ('CRC32','CRC32C','SHA1','SHA256'):
        try: r=c.put_object(Bucket='pub',Key=k,Body=d,ChecksumAlgorithm=alg)
        except Exception as e:
            if 'MissingDependency' in type(e).__name__: continue
            raise
        assert r['Checksum'+alg]
    r=c.get_object(Bucket='pub',Key=k,ChecksumMode='ENABLED'); assert r['Body'].read()==d
    for a,b in ((0,0),(n//2,n-1),(max(0,n-3),n+10)):
        r=c.get_object(Bucket='pub',Key=k,Range='bytes=%d-%d'%(a,b)); assert r['Body'].read()==d[a:b+1] and r['ResponseMetadata']['HTTPStatusCode']==206
    assert c.get_object(Bucket='pub',Key=k,Range='bytes=-1')['Body'].read()==d[-1:]
    assert code(c.get_object,Bucket='pub',Key=k,Range='bytes=%d-'%n)==('InvalidRange',416)
# bad digest
import base64
assert code(c.put_object,Bucket='pub',Key='bad',Body=b'x',ContentMD5=base64.b64encode(hashlib.md5(b'y').digest()).decode())[0]=='BadDigest'
assert code(c.put_object,Bucket='pub',Key='bad',Body=os.urandom(200000),ChecksumCRC32='AAAAAA==')[0]=='BadDigest'
assert code(c.head_object,Bucket='pub',Key='bad')[1]==404
# conditions
e=c.put_object(Bucket='pub',Key='c',Body=b'1')['ETag']
assert code(c.put_object,Bucket='pub',Key='c',Body=b'2',IfNoneMatch='*')==('PreconditionFailed',412)
assert code(c.put_object,Bucket='pub',Key='c',Body=b'2',IfMatch='"abc"')==('PreconditionFailed',412)
e2=c.put_object(Bucket='pub',Key='c',Body=b'2',IfMatch=e)['ETag']
assert code(c.get_object,Bucket='pub',Key='c',IfNoneMatch=e2)[1]==304
assert code(c.get_object,Bucket='pub',Key='c',IfMatch=e)[1]==412
import datetime
now=datetime.datetime.now(datetime.timezone.utc)
assert code(c.get_object,Bucket='pub',Key='c',IfModifiedSince=now+datetime.timedelta(hours=1))[1]==304
assert code(c.get_object,Bucket='pub',Key='c',IfUnmodifiedSince=now-datetime.timedelta(hours=1))[1]==412
# copy
big=os.urandom(2_000_000); c.put_object(Bucket='pub',Key='big',Body=big,Metadata={'m':'1'})
c.copy_object(Bucket='drop',Key='copy',CopySource={'Bucket':'pub','Key':'big'})
g=c.get_object(Bucket='drop',Key='copy'); assert g['Body'].read()==big and g['Metadata']=={'m':'1'}
c.copy_object(Bucket='drop',Key='copy',CopySource={'Bucket':'drop','Key':'copy'},Metadata={'m':'2'},MetadataDirective='REPLACE')
g=c.get_object(Bucket='drop',Key='copy'); assert g['Body'].read()==big and g['Metadata']=={'m':'2'}
# transfer manager, multipart 8MB parts
d=os.urandom(20_000_000)
c.upload_fileobj(io.BytesIO(d),'pub','multi',Config=TransferConfig(multipart_threshold=8<<20,multipart_chunksize=5<<20,max_concurrency=4))
o=io.BytesIO(); c.download_fileobj('pub','multi',o,Config=TransferConfig(multipart_threshold=8<<20,multipart_chunksize=5<<20)); assert o.getvalue()==d
assert c.head_object(Bucket='pub',Key='multi')['ETag'].endswith('-4"')
# multipart by hand
u=c.create_multipart_upload(Bucket='pub',Key='m2')['UploadId']
p1=c.upload_part(Bucket='pub',Key='m2',UploadId=u,PartNumber=1,Body=d[:5<<20])
p2=c.upload_part_copy(Bucket='pub',Key='m2',UploadId=u,PartNumber=2,CopySource={'Bucket':'pub','Key':'big'},CopySourceRange='bytes=10-99')['CopyPartResult']
assert [p['PartNumber'] for p in c.list_parts(Bucket='pub',Key='m2',UploadId=u)['Parts']]==[1,2]
assert [x['Key'] for x in c.list_multipart_uploads(Bucket='pub')['Uploads']]==['m2']
assert c.list_multipart_uploads(Bucket='pub',Delimiter='2')['CommonPrefixes']==[{'Prefix':'m2'}]
assert code(c.complete_multipart_upload,Bucket='pub',Key='m2',UploadId=u,MultipartUpload={'Parts':[{'PartNumber':2,'ETag':p2['ETag']},{'PartNumber':1,'ETag':p1['ETag']}]})[0]=='InvalidPartOrder'
assert code(c.complete_multipart_upload,Bucket='pub',Key='m2',UploadId=u,MultipartUpload={'Parts':[{'PartNumber':1,'ETag':'"x"'}]})[0]=='InvalidPart'
c.complete_multipart_upload(Bucket='pub',Key='m2',UploadId=u,MultipartUpload={'Parts':[{'PartNumber':1,'ETag':p1['ETag']},{'PartNumber':2,'ETag':p2['ETag']}]})
assert c.get_object(Bucket='pub',Key='m2')['Body'].read()==d[:5<<20]+big[10:100]
u=c.create_multipart_upload(Bucket='pub',Key='m3')['UploadId']; c.upload_part(Bucket='pub',Key='m3',UploadId=u,PartNumber=1,Body=b'x')
c.abort_multipart_upload(Bucket='pub',Key='m3',UploadId=u)
assert code(c.list_parts,Bucket='pub',Key='m3',UploadId=u)[0]=='NoSuchUpload'
# lists
for i in range(25): c.put_object(Bucket='drop',Key='l/%02d/x'%i,Body=b'')
c.put_object(Bucket='drop',Key='l/zz',Body=b'')
keys=[]; pres=[]
for page in c.get_paginator('list_objects_v2').paginate(Bucket='drop',Prefix='l/',Delimiter='/',PaginationConfig={'PageSize':4}):
    keys+=[o['Key'] for o in page.get('Contents',[])]; pres+=[p['Prefix'] for p in page.get('CommonPrefixes',[])]
assert keys==['l/zz'] and pres==['l/%02d/'%i for i in range(25)],(keys,pres)
keys=[]
for page in c.get_paginator('list_objects').paginate(Bucket='drop',Prefix='l/',PaginationConfig={'PageSize':7}): keys+=[o['Key'] for o in page['Contents']]
assert len(keys)==26 and keys==sorted(keys)
pres=[]
for page in c.get_paginator('list_objects').paginate(Bucket='drop',Prefix='l/',Delimiter='/',PaginationConfig={'PageSize':3}): pres+=[p['Prefix'] for p in page.get('CommonPrefixes',[])]
assert pres==['l/%02d/'%i for i in range(25)]
assert [o['Key'] for o in c.list_objects_v2(Bucket='drop',StartAfter='l/23/x')['Contents']]==['l/24/x','l/zz']
assert c.list_objects_v2(Bucket='drop',MaxKeys=0)['KeyCount']==0
# presigned
s=client('admin','adminadminadminadmin',signature_version='s3v4')
link=s.generate_presigned_url('get_object',Params={'Bucket':'pub','Key':'a/ü +&?.txt'},ExpiresIn=60)
assert urllib.request.urlopen(link).read()==body
try: urllib.request.urlopen(link[:-3]+'abc'); assert 0
except urllib.error.HTTPError as e: assert e.code==403
put=s.generate_presigned_url('put_object',Params={'Bucket':'pub','Key':'pre'},ExpiresIn=60)
urllib.request.urlopen(urllib.request.Request(put,data=b'pre',method='PUT'))
assert c.get_object(Bucket='pub',Key='pre')['Body'].read()==b'pre'
# rights
r=client('reader','readerreaderreader')
assert r.get_object(Bucket='pub',Key='pre')['Body'].read()==b'pre'
assert code(r.put_object,Bucket='pub',Key='x',Body=b'')==('AccessDenied',403)
assert code(r.delete_object,Bucket='pub',Key='pre')==('AccessDenied',403)
assert code(r.create_bucket,Bucket='other')==('AccessDenied',403)
r.put_object(Bucket='drop',Key='r',Body=b'1')
c.create_bucket(Bucket='hidden'); c.put_object(Bucket='hidden',Key='k',Body=b's')
assert {b['Name'] for b in r.list_buckets()['Buckets']}=={'pub','drop'}
assert code(r.copy_object,Bucket='drop',Key='steal',CopySource={'Bucket':'hidden','Key':'k'})==('AccessDenied',403)
assert code(client('admin','wrongwrongwrongwrong').list_buckets)[0]=='SignatureDoesNotMatch'
assert code(client('nobody','wrongwrongwrongwrong').list_buckets)[0]=='InvalidAccessKeyId'
# delete
assert code(c.delete_bucket,Bucket='hidden')==('BucketNotEmpty',409)
for b in ('hidden','pub','drop'):
    while True:
        l=c.list_objects_v2(Bucket=b).get('Contents',[])
        if not l: break
        r=c.delete_objects(Bucket=b,Delete={'Objects':[{'Key':o['Key']} for o in l]}); assert len(r['Deleted'])==len(l)
    c.delete_bucket(Bucket=b)
assert code(c.get_object,Bucket='pub',Key='x')==('NoSuchBucket',404)
assert code(c.get_bucket_acl,Bucket='pub')==('NoSuchBucket',404)
assert code(c.get_bucket_cors,Bucket='pub')[1]==501
print('boto3 ok')
